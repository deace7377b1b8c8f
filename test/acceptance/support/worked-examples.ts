/** The worked values that a knowledge object brings, asked of a service that runs it. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { Client } from './knowledge-grid.ts';

interface Worked {
  readonly name: string;
  readonly endpoint?: string;
  readonly method?: 'get';
  readonly contentType?: string;
  readonly input?: unknown;
  readonly expect?: unknown;
  readonly tolerance?: number;
  readonly expectError?: string;
}

/** Calls the service with all that the folder of a knowledge object has; `id` is its id with the API version. Gives how many. */
export async function assertWorkedExamples(
  service: Pick<Client, 'get' | 'post'>,
  folder: string,
  id: string,
): Promise<number> {
  const file = parse(await readFile(join(folder, 'worked-examples.yaml'), 'utf8')) as Worked[];
  // Those of hooks have a test of their own.
  const all = file.filter(({ endpoint }) => endpoint !== undefined);
  for (const worked of all) {
    const path = `/${id}${worked.endpoint ?? ''}`;
    const type = worked.contentType ?? 'application/json';
    const body = type === 'application/json' ? JSON.stringify(worked.input) : String(worked.input);
    const answer =
      worked.method === 'get' ? await service.get(path) : await service.post(path, body, { 'content-type': type });
    const where = `${id}: ${worked.name}`;
    if (worked.expectError !== undefined) {
      assert.ok(answer.status >= 400, where);
      assert.ok(String(answer.object['Detail']).includes(worked.expectError), `${where}: ${answer.text}`);
    } else {
      assert.equal(answer.status, 200, `${where}: ${answer.text}`);
      assertHolds(answer.object['result'], worked.expect, worked.tolerance ?? 0, where);
    }
  }
  return all.length;
}

/** Of an object the keys given, of a list every element, numbers within the tolerance. */
function assertHolds(actual: unknown, expected: unknown, tolerance: number, where: string): void {
  if (typeof expected === 'number') {
    assert.equal(typeof actual, 'number', where);
    assert.ok(Math.abs(Number(actual) - expected) <= tolerance, `${where}: ${String(actual)} is not ${expected}`);
  } else if (Array.isArray(expected)) {
    assert.ok(Array.isArray(actual) && actual.length === expected.length, `${where}: ${JSON.stringify(actual)}`);
    for (const [i, each] of expected.entries())
      assertHolds((actual as unknown[])[i], each, tolerance, `${where}[${i}]`);
  } else if (typeof expected === 'object' && expected !== null) {
    assert.ok(typeof actual === 'object' && actual !== null, `${where}: ${JSON.stringify(actual)}`);
    for (const [key, each] of Object.entries(expected))
      assertHolds((actual as Record<string, unknown>)[key], each, tolerance, `${where}.${key}`);
  } else assert.deepEqual(actual, expected, where);
}
