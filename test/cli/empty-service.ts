/** A service for tests of commands that need nothing of it but an empty shelf. */
import assert from 'node:assert/strict';
import { after } from 'node:test';
import type { Client } from '../acceptance/support/knowledge-grid.ts';
import { startService } from '../acceptance/support/service.ts';

const shared = await startService();
after(() => shared[Symbol.asyncDispose]());

/** The one of this process, without what earlier tests left there. */
export async function emptyService(): Promise<Client> {
  for (const each of (await shared.get('/kos')).list) {
    const { status, text } = await shared.delete(`/kos/${String(each['@id']).replace(/\/$/, '')}`);
    assert.equal(status, 204, text);
  }
  assert.equal((await shared.get('/actuator/activation/reload')).status, 303);
  assert.deepEqual((await shared.get('/endpoints')).list, []);
  return shared;
}
