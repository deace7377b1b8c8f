/** The fleet of three that all files of tests use which run in this process. */
import { after } from 'node:test';
import { startFleet } from './fleet.ts';
import type { TestFleet } from './fleet.ts';

/** How long a node that stops answers new requests. */
export const DRAIN_MS = 2500;

let shared: Promise<TestFleet> | undefined;

export function theFleet(): Promise<TestFleet> {
  shared ??= start();
  return shared;
}

async function start(): Promise<TestFleet> {
  const fleet = await startFleet(3, { args: ['--trust-proxy', '127.0.0.1', '--drain', `${DRAIN_MS}ms`] });
  after(() => fleet[Symbol.asyncDispose]());
  return fleet;
}
