import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { testDatabase } from '../support/postgres/shared.ts';
import { kgrid } from './kgrid.ts';

const shared = await testDatabase();
after(() => shared[Symbol.asyncDispose]());

const schema = async (...args: string[]): Promise<[number | null, string]> => {
  const { code, stdout, stderr } = await kgrid(['schema', ...args]);
  return [code, stdout + stderr];
};

test('the tables of a database are made, prepared and finished by an operator, and their state is told', async () => {
  assert.deepEqual(await schema('status', shared.url), [1, 'There are no tables yet: the first start makes them\n']);
  const [made, said] = await schema('prepare', shared.url);
  assert.equal(made, 0);
  assert.match(said, /^(?:step \d {2}finished 20\d\d-.*Z\n)+$/);
  await shared.run('UPDATE kgrid.schema_step SET finished = NULL');
  assert.match((await schema('status', shared.url)).join(' '), /^1 (?:step \d {2}prepared 20\d\d-.*Z\n)+$/);
  await shared.run(
    `INSERT INTO kgrid.node (id, name, address, version, settings, revision, generation, failures, joined, heartbeat)
      VALUES ('a', 'old', '', '0.0.9+abc', '{}', 0, 0, '[]', 0, (extract(epoch FROM now()) * 1000)::bigint + 600000)`,
  );
  const [refused, why] = await schema('finish', shared.url);
  assert.equal(refused, 1);
  assert.match(
    why,
    /^(?:step \d {2}prepared .*\n)+Activators that run on it: old \(0\.0\.9\+abc\)\nNot finished: .*Update or stop them first\n$/,
  );
  await shared.run('DELETE FROM kgrid.node');
  assert.match((await schema('finish', shared.url)).join(' '), /^0 (?:step \d {2}finished 20\d\d-.*Z\n)+$/);
});
