import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { pathOf } from '../acceptance/support/knowledge-grid.ts';
import { javascriptKo, uniqueNaan } from '../acceptance/support/ko.ts';
import type { Ko } from '../acceptance/support/ko.ts';
import { startService } from '../acceptance/support/service.ts';
import type { OwnService } from '../acceptance/support/service.ts';
import { Pace } from '../hostile/support/pace.ts';
import { ranOutOfTime, tryAgain } from '../support/try-again.ts';
import { descendantsOf, gone } from './support/processes.ts';
import { runtimeKo } from './support/runtime-ko.ts';

/** Milliseconds. */
const LIMIT = 3000;
const ENGINES = ['node', 'python'] as const;
type EngineName = (typeof ENGINES)[number];

/** Answers `"pid"` with the id of its process, and tells its log of everything else that it begins. */
const CODE: Record<EngineName, Record<string, string>> = {
  node: {
    'src/index.js': `exports.run = (how) => {
      if (how === 'pid') return process.pid;
      console.log(how + ' begins');
      if (how === 'spin') for (;;);
      return new Promise(() => {});
    };`,
  },
  python: {
    'src/main.py': [
      'import os, time',
      'def run(how):',
      '    if how == "pid": return os.getpid()',
      '    print(how, "begins")',
      '    while how == "spin": pass',
      '    time.sleep(60)',
    ].join('\n'),
  },
};

const naan = uniqueNaan();
const koOf = (engine: EngineName, name: string): Ko =>
  runtimeKo({ naan, name, engine, code: CODE[engine], deployment: { timeout: LIMIT } });
const local = javascriptKo('function run() { return "local"; }', { naan, name: 'local' });
const kos = ENGINES.flatMap((engine) => [koOf(engine, engine), koOf(engine, `${engine}beside`)]);

async function start(...served: Ko[]): Promise<OwnService> {
  const service = await startService({ args: ['--runtimes', 'node,python', '--runtime-timeout', '60s'] });
  await service.add(...served);
  await service.get('/actuator/reload');
  for (const ko of served) if (ko !== local) await processOf(service, ko);
  return service;
}

const call = (service: OwnService, ko: Ko, how: string) => service.post(pathOf(ko), JSON.stringify(how));

/** The process in which the code of the KO runs. */
async function processOf(service: OwnService, ko: Ko): Promise<number> {
  const answer = await tryAgain(() => call(service, ko, 'pid'), ranOutOfTime);
  assert.equal(answer.status, 200, answer.text);
  return Number(answer.object['result']);
}

/** Begins a call that does not end by itself; resolves when its code runs. */
async function begin(service: OwnService, ko: Ko, how: string) {
  const seen = service.log.length;
  const answer = call(service, ko, how);
  await service.logged((line) => service.log.indexOf(line) >= seen && String(line['msg']).startsWith(`${how} begins`));
  return { answer };
}

/** What does not concern the fault goes on. */
async function assertOthersAnswer(service: OwnService, faulty: Ko): Promise<void> {
  const others = kos.filter((ko) => ko !== faulty && ko.metadata['title'] !== faulty.metadata['title']);
  const asked = [{ ko: local, how: '' }, ...others.map((ko) => ({ ko, how: 'pid' }))];
  const answers = await Promise.all(asked.map(({ ko, how }) => tryAgain(() => call(service, ko, how), ranOutOfTime)));
  for (const answer of answers) assert.equal(answer.status, 200, answer.text);
}

const service = await start(local, ...kos);
after(() => service[Symbol.asyncDispose]());
/** Others may keep the machine busy: promises of time are measured by its own clock. */
const pace = new Pace();
after(() => pace[Symbol.dispose]());

for (const engine of ENGINES) {
  const ko = kos.find(({ name }) => name === engine) ?? local;

  test(`a ${engine} worker that is killed costs the calls that it had begun`, async () => {
    const worker = await processOf(service, ko);
    const { answer } = await begin(service, ko, 'hang');
    process.kill(worker, 'SIGKILL');
    const failed = await answer;
    assert.equal(failed.status, 500, failed.text);
    assert.match(String(failed.object['Detail']), /^Code execution error: ./);
    await assertOthersAnswer(service, ko);
    assert.notEqual(await processOf(service, ko), worker);
  });

  test(`a ${engine} worker that stops answering is left behind at the limit of the call`, async () => {
    const worker = await processOf(service, ko);
    process.kill(worker, 'SIGSTOP');
    const began = Date.now();
    const [answer] = await Promise.all([call(service, ko, 'pid'), assertOthersAnswer(service, ko)]);
    const took = Date.now() - began;
    // 503: the worker had not begun it.
    assert.ok([500, 503].includes(answer.status), answer.text);
    assert.ok(took < LIMIT + pace.allowed(1000, began, took), `${took} ms`);
    assert.notEqual(await processOf(service, ko), worker);
    await gone([worker]);
  });
}

test('a service that is killed leaves no worker behind, busy or not', async () => {
  await using killed = await start(...ENGINES.map((engine) => koOf(engine, engine)));
  const calls = await Promise.all(ENGINES.map((engine) => begin(killed, koOf(engine, engine), 'spin')));
  const ends = Promise.allSettled(calls.map(({ answer }) => answer));
  const processes = await descendantsOf(killed.pid);
  assert.ok(processes.length >= 2, `${processes.length} processes`);
  await killed.stop('SIGKILL');
  assert.deepEqual(
    (await ends).map(({ status }) => status),
    ['rejected', 'rejected'],
    'they were busy',
  );
  await gone(processes);
});

test('a service that stops leaves no worker behind', async () => {
  const processes = await descendantsOf(service.pid);
  assert.ok(processes.length >= 5, `${processes.length} processes`);
  assert.deepEqual(await service.stop(), { code: 0, signal: null });
  await gone(processes);
});
