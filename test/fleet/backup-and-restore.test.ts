/** "Backup and restore": what a database has at one moment is a whole fleet. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { pathOf } from '../acceptance/support/knowledge-grid.ts';
import { javascriptKo, resourceKo, uniqueNaan, zipOf } from '../acceptance/support/ko.ts';
import type { Ko } from '../acceptance/support/ko.ts';
import { startService, temporaryFolder } from '../acceptance/support/service.ts';
import { postgresPrograms } from '../support/postgres/install.ts';
import { testDatabase } from '../support/postgres/shared.ts';
import { startFleet } from './support/fleet.ts';

const naan = uniqueNaan();
const saying = (name: string, words: string): Ko =>
  javascriptKo(`function run() { return ${JSON.stringify(words)}; }`, { naan, name });

/** Other versions of PostgreSQL may be here as a server alone. */
const dump = join(postgresPrograms(), 'pg_dump');

if (existsSync(dump))
  test('a dump that is made while the fleet runs is a whole fleet, of which a node calls what the others do', async () => {
    await using fleet = await startFleet(2);
    const [a, b] = [fleet.node(0), fleet.node(1)];
    const ko = saying('dumped', 'whole');
    await a.serve(
      ko,
      resourceKo({ naan, name: 'dumpedFiles', resources: { 'large.bin': Buffer.alloc(3 * 2 ** 20, 'x') } }),
    );
    await using folder = await temporaryFolder();
    await using again = await testDatabase();
    const file = join(folder.path, 'kgrid.dump');
    const run = promisify(execFile);
    const changing = Promise.all([1, 2, 3, 4].map((i) => b.add(saying(`meanwhile${i}`, 'x'))));
    await run(dump, ['--format=custom', `--file=${file}`, fleet.database.url]);
    await changing;
    await run(join(postgresPrograms(), 'pg_restore'), ['--dbname', again.url, file]);
    await using node = await startService({ shelf: again.url, args: ['--state', join(folder.path, 'state')] });
    const [there, here] = await Promise.all([node, a].map(async (each) => (await each.get('/kos')).list));
    const dumped = there?.filter((each) => !String(each['@id']).includes('meanwhile'));
    assert.deepEqual(
      dumped,
      here?.filter((each) => !String(each['@id']).includes('meanwhile')),
    );
    for (const each of [a, node]) assert.equal((await each.post(pathOf(ko), {})).object['result'], 'whole');
    const [one, other] = await Promise.all([node, a].map((each) => each.get(`/kos/${naan}/dumpedFiles/v1?format=zip`)));
    assert.deepEqual(one?.bytes, other?.bytes);
    assert.equal((await node.get(`/actuator/audit?ko=${naan}/dumped`)).list.length, 2);
    assert.equal((await node.importZip(await zipOf(saying('dumped', 'and goes on').files))).status, 200);
  });
