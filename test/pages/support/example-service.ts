/** Services with a copy of the examples. */
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { after } from 'node:test';
import { PROJECT, startService, temporaryFolder } from '../../acceptance/support/service.ts';
import type { OwnService, Start } from '../../acceptance/support/service.ts';

let shared: Promise<OwnService> | undefined;

/** The one of this process, for tests that change nothing. */
export function exampleService(): Promise<OwnService> {
  shared ??= ownExampleService();
  return shared;
}

export async function ownExampleService(start: Start = {}): Promise<OwnService> {
  const shelf = await temporaryFolder();
  await cp(join(PROJECT, 'examples'), shelf.path, { recursive: true });
  const service = await startService({ ...start, shelf: shelf.path });
  after(async () => {
    await service[Symbol.asyncDispose]();
    await shelf[Symbol.asyncDispose]();
  });
  return service;
}
