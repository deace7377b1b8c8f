/** The running service: its processes stand behind walls, and a knowledge object that attacks it over HTTP gets nowhere. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { javascriptKo, uniqueNaan } from '../acceptance/support/ko.ts';
import { pathOf } from '../acceptance/support/knowledge-grid.ts';
import { startService } from '../acceptance/support/service.ts';
import { descendantsOf } from '../runtimes/support/processes.ts';
import { runtimeKo } from '../runtimes/support/runtime-ko.ts';
import { attempts } from './attempts/all.ts';
import { bareNodeOutcomes, nodeCode } from './support/attacker-of-node.ts';
import type { NodeOutcomes } from './support/attacker-of-node.ts';
import { pythonCode } from './support/attackers.ts';
import type { Target } from './support/attempt.ts';
import { idOf, tryOn } from './support/outcomes.ts';
import { attackedService } from './support/services.ts';
import { USERS } from './support/users.ts';

const naan = uniqueNaan();
const kos = {
  javascript: javascriptKo('function run() { return 1; }', { naan, name: 'javascript' }),
  node: runtimeKo({ naan, name: 'node', engine: 'node', code: { 'src/index.js': 'module.exports = () => 1;' } }),
  python: runtimeKo({ naan, name: 'python', engine: 'python', code: { 'src/main.py': 'def run(_): return 1\n' } }),
};

/** What the kernel says of a process. */
async function statusOf(pid: number): Promise<Readonly<Record<string, string>>> {
  // A helper that has just ended has none.
  const text = await readFile(`/proc/${pid}/status`, 'latin1').catch(() => '');
  return Object.fromEntries([...text.matchAll(/^(\w+):\s*(.*)$/gm)].map(([, name = '', value = '']) => [name, value]));
}

for (const walls of ['auto', 'off'] as const) {
  test(`each process that runs code of knowledge objects has a filter and no capabilities: --walls ${walls}`, async () => {
    await using service = await startService({ args: ['--runtimes', 'node,python', '--walls', walls] });
    await service.add(...Object.values(kos));
    for (const ko of Object.values(kos)) {
      await service.reload(ko);
      assert.equal((await service.post(pathOf(ko), {})).object['result'], 1);
    }
    const pids = await descendantsOf(service.pid);
    let seen = 0;
    for (const pid of pids) {
      const { Name = '', Seccomp, NoNewPrivs, CapEff = '' } = await statusOf(pid);
      if (Name === '') continue;
      seen++;
      if (walls === 'auto')
        assert.deepEqual([Name, Seccomp, Number(NoNewPrivs), Number(`0x${CapEff}`)], [Name, '2', 1, 0]);
      else assert.equal(Seccomp, (await statusOf(process.pid))['Seccomp'], `${Name} has a filter`);
    }
    assert.ok(seen >= Object.keys(kos).length);
  });
}

for (const { who, as } of USERS) {
  test(`a knowledge object in python that attacks the service over HTTP gets nowhere, ${who}`, async () => {
    await using attacked = await attackedService(pythonCode, { isUser: as !== undefined, args: ['--walls', 'auto'] });
    const outcomes = await tryOn(await attacked.target(), attacked.outcomes);
    const through = attempts.filter((each) => outcomes.get(idOf(each)) === true && each.open?.python === undefined);
    assert.deepEqual(through.map(idOf), []);
    assert.equal(outcomes.size, attempts.length);
  });
}

for (const { who, as } of USERS) {
  test(`a knowledge object in node that attacks the service over HTTP gets nowhere, ${who}`, async () => {
    let attack: (target: Target) => Promise<NodeOutcomes> = () => Promise.reject(new Error('it is not active'));
    await using attacked = await attackedService(
      nodeCode((each) => (attack = each)),
      { isUser: as !== undefined, args: ['--walls', 'auto'] },
    );
    const outcomes = await attack(await attacked.target());
    const through = Object.entries(outcomes).filter(([, outcome]) => outcome === true);
    assert.deepEqual(through, []);
    // Each works where nobody holds it back.
    const bare = bareNodeOutcomes(await attacked.target(), as);
    assert.deepEqual(bare, Object.fromEntries(Object.keys(outcomes).map((name) => [name, true])));
  });
}
