/** A service with a copy of the examples, for the tests of one file. */
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { after } from 'node:test';
import { PROJECT, startService, temporaryFolder } from '../../acceptance/support/service.ts';
import type { OwnService, Start } from '../../acceptance/support/service.ts';

export async function exampleService(start: Start = {}): Promise<OwnService> {
  const shelf = await temporaryFolder();
  await cp(join(PROJECT, 'examples'), shelf.path, { recursive: true });
  const service = await startService({ ...start, shelf: shelf.path });
  after(async () => {
    await service[Symbol.asyncDispose]();
    await shelf[Symbol.asyncDispose]();
  });
  return service;
}
