import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import pino from 'pino';
import { api, deployment, secondKo } from '../../test/acceptance/support/second-generation.ts';
import { ManualEngine, MemoryPackage } from '../../test/support/in-memory.ts';
import type { EngineHealth } from '../engines/engine.ts';
import type { Shelf } from '../shelf/shelf.ts';
import { Activator } from './activator.ts';
import { LoadedKo } from './loaded-ko.ts';
import { declaredBy } from './loading.ts';

/** A runtime of its own, which is up, on its way, or neither. */
class Runtime extends ManualEngine {
  state: EngineHealth = { status: 'DOWN', details: { starting: true } };

  override health(): EngineHealth {
    return this.state;
  }
}

const files = secondKo({
  atId: 'bmi',
  metadata: { hasService: api(['py', 'js']) },
  files: {
    'py/deployment.yaml': deployment('bmi.py', 'python'),
    'py/bmi.py': '',
    'js/deployment.yaml': deployment(),
    'js/bmi.js': '',
  },
});
const ko = {
  naan: 'kgrid',
  name: 'bmi',
  version: 'v1.0',
  apiVersion: '1.0',
  id: 'kgrid/bmi/v1.0',
  metadata: {},
  files,
};
const NOT_HERE: EngineHealth = { status: 'DOWN', details: { problem: 'there is no Python' } };

test('of the implementations of a service the first counts whose engine runs here, or is on its way', async () => {
  const python = new Runtime({ name: 'python', builtIn: false });
  const javascript = new ManualEngine();
  const loaded = await LoadedKo.load(new MemoryPackage(ko));
  const chosen = (...engines: ManualEngine[]): string[] =>
    declaredBy(loaded, new Map(engines.map((each) => [each.name, each]))).map(({ entry }) => entry.engine);
  assert.deepEqual(chosen(python, javascript), ['python'], 'on its way');
  python.state = { status: 'UP', details: {} };
  assert.deepEqual(chosen(python, javascript), ['python']);
  python.state = NOT_HERE;
  assert.deepEqual(chosen(python, javascript), ['javascript']);
  assert.deepEqual(chosen(javascript), ['javascript']);
  assert.deepEqual(chosen(python), ['python'], 'that of none, which says why');
});

test('where a runtime does not come after all, another implementation takes its place', async () => {
  const python = new Runtime({ name: 'python', builtIn: false });
  const javascript = new ManualEngine();
  const { entry } = new MemoryPackage(ko);
  const shelf: Pick<Shelf, 'list' | 'versions' | 'open' | 'damage' | 'readAgain'> = {
    list: () => Promise.resolve([entry]),
    versions: () => Promise.resolve([entry]),
    open: () => Promise.resolve(new MemoryPackage(ko)),
    damage: () => [],
    readAgain: () => Promise.resolve([]),
  };
  const engines = new Map([python, javascript].map((each) => [each.name, each]));
  const activator = new Activator({ shelf: shelf as Shelf, engines, log: pino({ level: 'silent' }) });
  await activator.start();
  assert.deepEqual(python.begun, ['kgrid/bmi/1.0/bmi']);
  python.state = NOT_HERE;
  activator.engineIsAbsent('python');
  while (javascript.begun.length === 0) await setImmediate();
  javascript.succeed('kgrid/bmi/1.0/bmi');
  while (activator.set.endpoints[0]?.status !== 'ACTIVATED') await setImmediate();
  assert.equal(activator.set.endpoints[0].entry.engine, 'javascript');
  activator[Symbol.dispose]();
});
