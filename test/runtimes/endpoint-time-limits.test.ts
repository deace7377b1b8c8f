/** An endpoint may set the time limit of its calls, also above that of its engine. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { pathOf } from '../acceptance/support/knowledge-grid.ts';
import { ko, uniqueNaan, zipOf } from '../acceptance/support/ko.ts';
import type { Ko } from '../acceptance/support/ko.ts';
import { RecordedNodeRuntime } from './support/recorded-node-runtime.ts';
import { theWorkersService } from './support/the-services.ts';

const naan = uniqueNaan();
const { service } = await theWorkersService();
const runtime = await RecordedNodeRuntime.start(service, 'timed');
after(() => runtime[Symbol.asyncDispose]());

const koOf = (name: string, engine: string, timeout: unknown, code: string): Ko => {
  const artifact = engine === 'python' ? 'src/main.py' : 'src/main.js';
  return ko({
    ...{ naan, name, files: { [artifact]: code }, metadata: { hasPayload: artifact } },
    endpoints: [
      { path: '/run', consumes: ['application/json'], deployment: { engine, artifact, function: 'run', timeout } },
    ],
  });
};
const CALLERS = {
  javascript: (id: string) => `function run(input) { return context.getExecutor('${id}').execute(input); }`,
  node: (id: string) => `module.exports.run = (input) => global.cxt.getExecutorByID('${id}').execute(input);`,
  python: (id: string) =>
    `from kgrid_python_runtime.context import Context\n\ndef run(input):\n    return Context().get_executor_by_id('${id}')(input)\n`,
};
const inner = koOf('inner', 'timed', '5m', 'code of the runtime');
await service.serve(inner);

/** Milliseconds that the runtime of others was told its last call has. */
const toldTime = (): number => Number(runtime.calls.at(-1)?.headers['x-kgrid-deadline-ms']);

test('a runtime is told the limit of an endpoint, and calls have that time', async () => {
  assert.equal(runtime.activations.at(-1)?.['timeout'], 300_000);
  assert.equal((await service.post(pathOf(inner), {})).status, 200);
  assert.ok(toldTime() > 30_000 && toldTime() <= 300_000, String(toldTime()));
});

for (const engine of ['javascript', 'node', 'python'] as const) {
  test(`code has the time that its endpoint sets, and hands on what is left: ${engine}`, async () => {
    const caller = koOf(`outer${engine}`, engine, '100s', CALLERS[engine](pathOf(inner).slice(1)));
    await service.serve(caller);
    const answer = await service.post(pathOf(caller), { a: 1 });
    assert.equal(answer.status, 200, answer.text);
    assert.ok(toldTime() > 30_000 && toldTime() <= 100_000, String(toldTime()));
  });

  test(`less time than the engine gives counts too: ${engine}`, async () => {
    const code = engine === 'python' ? 'def run(input):\n    while True: pass\n' : 'function run() { for (;;); }';
    const endless = koOf(`endless${engine}`, engine, '200ms', code + (engine === 'node' ? 'exports.run = run;' : ''));
    await service.serve(endless);
    const answer = await service.post(pathOf(endless), {});
    assert.equal(answer.status, 500);
    assert.match(answer.text, /limit of 0\.2 s/);
  });
}

test('an endpoint that asks for more than the service allows, or for no time, fails and names the place', async () => {
  const details = async (it: Ko): Promise<[unknown, unknown]> => {
    await service.importZip(await zipOf(it.files));
    await service.get(`/actuator/activation/refresh/${it.id}`);
    const [endpoint] = (await service.get('/endpoints')).list.filter((each) => each['@id'] === pathOf(it).slice(1));
    return [endpoint?.['status'], endpoint?.['detail']];
  };
  assert.deepEqual(await details(koOf('long', 'node', '11m', 'exports.run = () => 1;')), [
    'FAILED_TO_ACTIVATE',
    'the timeout of /run (deployment.yaml line 2) is 660 s, which is more than the 600 s that the service allows (--max-endpoint-timeout)',
  ]);
  assert.deepEqual(await details(koOf('odd', 'javascript', 'soon', 'function run() {}')), [
    'FAILED_TO_ACTIVATE',
    'deployment.yaml line 2: /run has the timeout soon: it must be a whole number with a unit, such as 500ms, 300s or 5m',
  ]);
});
