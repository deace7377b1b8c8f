/** The service that all tests of one process share. */
import { after } from 'node:test';
import { clientOf } from './knowledge-grid.ts';
import type { Client } from './knowledge-grid.ts';
import { startService } from './service.ts';
import type { OwnService } from './service.ts';

let shared: Promise<Client> | undefined;
let own: Promise<OwnService> | undefined;

/** Gives a child of this process, whose log can be read, with the default settings. */
export function theOwnService(): Promise<OwnService> {
  return (own ??= startOwn());
}

async function startOwn(): Promise<OwnService> {
  const service = await startService();
  after(() => service[Symbol.asyncDispose]());
  return service;
}

/**
 * Gives the service at `ACCEPTANCE_URL` (with `ACCEPTANCE_USER` and `ACCEPTANCE_PASSWORD` when it is secured; it
 * must run on this machine, since manifests name places here), else one started for this process. What was imported
 * is removed at the end.
 */
export function theService(): Promise<Client> {
  shared ??= start();
  return shared;
}

async function start(): Promise<Client> {
  const { ACCEPTANCE_URL: url, ACCEPTANCE_USER: user, ACCEPTANCE_PASSWORD: password } = process.env;
  if (url === undefined || url === '') return theOwnService();
  const client = clientOf(url, user === undefined ? undefined : `${user}:${password ?? ''}`);
  after(async () => {
    for (const id of client.imported) {
      await client.delete(`/kos/${id.replace(/\/$/, '')}`);
      await client.get(`/actuator/activation/reload/${id.replace(/\/$/, '')}`);
    }
  });
  return client;
}
