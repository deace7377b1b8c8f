import assert from 'node:assert/strict';
import { test } from 'node:test';
import { operationsOf, readInterface } from './support/interface.ts';
import type { Operation } from './support/interface.ts';
import { codesIn, tableOf } from './support/markdown.ts';
import { read } from './support/project.ts';

/** The words of the table for who may use an operation. */
function accessOf(path: string, { security }: Operation): string {
  if (security === undefined) return 'open';
  if (security.every((way) => Object.keys(way).length > 0)) return 'login';
  return path.startsWith('/actuator/health') ? 'open, more with a login' : 'open, login with `--secure-execution`';
}

test('the table of paths in docs/interface.md is that of the OpenAPI document', async () => {
  const { paths } = await readInterface();
  const real = Object.entries(paths).flatMap(([path, item]) =>
    operationsOf(item)
      .filter(([method]) => method !== 'head')
      .map(([method, operation]) => ({
        path,
        method: method === 'get' && item.head !== undefined ? 'GET, HEAD' : method.toUpperCase(),
        access: accessOf(path, operation),
        statuses: Object.keys(operation.responses)
          .filter((status) => status !== 'default')
          .join(', '),
      })),
  );
  const shown = tableOf(read('docs/interface.md').split('## All paths')[1] ?? '', 'Path').map((row) => ({
    path: codesIn(row['Path'] ?? '')[0],
    method: row['Method'],
    access: row['Access'],
    statuses: row['Statuses'],
  }));
  assert.deepEqual(shown, real);
});
