import assert from 'node:assert/strict';
import { test } from 'node:test';
import pino from 'pino';
import { ManualEngine } from '../../test/support/in-memory.ts';
import { CallTokens } from './call-token.ts';
import { EngineRegistry } from './engine-registry.ts';
import { RuntimeRegistry } from './external/runtime-registry.ts';

/** A registry, its runtimes, and what those who watch heard. */
function watched(): Disposable & { engines: EngineRegistry; runtimes: RuntimeRegistry; heard: string[] } {
  const engines = new EngineRegistry();
  const heard: string[] = [];
  engines.on('came', ({ name }) => heard.push(`${name} came`));
  engines.on('health', ({ name }, { status }) => heard.push(`${name} ${status}`));
  engines.on('runtime', (engine, alone) => heard.push(`runtime of ${engine}${alone ? ', alone' : ''}`));
  const runtimes = new RuntimeRegistry({
    engines,
    callTimeout: 1000,
    activationTimeout: 1000,
    queueLimit: 1,
    maxResult: 1000,
    tokens: new CallTokens(),
    stopped: new AbortController().signal,
    expiry: 60_000,
    log: pino({ level: 'silent' }),
  });
  return { engines, runtimes, heard, [Symbol.dispose]: () => runtimes[Symbol.dispose]() };
}

test('who watches hears of an engine that comes, of its runtimes, and of its health', () => {
  using registry = watched();
  const { engines, runtimes, heard } = registry;
  const first = { engine: 'Julia', url: 'http://127.0.0.1:9' };
  assert.equal(runtimes.register(first, 'http://127.0.0.1:8'), 'new');
  runtimes.register({ ...first, url: 'http://127.0.0.1:10' }, 'http://127.0.0.1:8');
  assert.equal(runtimes.register(first, 'http://127.0.0.1:8'), 'existing runtime', 'a heartbeat is no news');
  assert.deepEqual(heard.splice(0), ['julia came', 'julia UP', 'runtime of julia, alone', 'runtime of julia']);
  const all = [...runtimes.engine('julia').runtimes];
  all[0]?.lose();
  assert.deepEqual(heard, [], 'another one is up');
  all[1]?.lose();
  assert.deepEqual(heard.splice(0), ['julia DOWN']);
  if (all[0] !== undefined) all[0].up = true;
  assert.deepEqual(heard.splice(0), ['julia UP']);
  for (const each of all) runtimes.remove(each);
  assert.deepEqual(heard.splice(0), ['julia DOWN']);
  assert.equal(engines.get('julia')?.health().status, 'DOWN');
});

test('a name belongs to one engine, under all its other names too', () => {
  using registry = watched();
  const { engines, runtimes } = registry;
  engines.add(new ManualEngine());
  assert.throws(() => engines.add(new ManualEngine()), /two engines javascript/);
  for (const engine of ['JavaScript', 'org.kgrid.javascript-activator']) {
    const register = (): unknown => runtimes.register({ engine, url: 'http://127.0.0.1:9' }, '');
    assert.throws(register, /javascript is an engine of the activator itself/, engine);
  }
  runtimes.register({ engine: 'org.kgrid.Python-Activator', url: 'http://127.0.0.1:9' }, '');
  assert.deepEqual([...engines.keys()], ['javascript', 'python']);
});
