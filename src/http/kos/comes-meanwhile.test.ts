import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FastifyRequest } from 'fastify';
import { put } from '../../../test/conformance/shelf-packages.ts';
import { temporaryFolder } from '../../../test/conformance/temporary-folder.ts';
import { DEV } from '../../identity/principal.ts';
import { openShelf } from '../../shelf/stores.ts';
import { refusedAtId } from './read-at-id.ts';

test('a KO that came to its place after it was missed there is no @id that refuses changes', async () => {
  await using folder = await temporaryFolder();
  await using shelf = await openShelf(folder.path);
  const refusal = (path: string): Promise<Error | undefined> =>
    refusedAtId(shelf, { method: 'DELETE', url: `/kos/${path}`, query: {}, principal: DEV } as FastifyRequest);
  await put(shelf, 'a/b/v1');
  assert.equal(await refusal('a/b/v1'), undefined);
  assert.match(String(await refusal('a/b/v1/service')), /the place of a\/b\/v1 on the shelf is/);
});
