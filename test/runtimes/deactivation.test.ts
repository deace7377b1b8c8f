import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, test } from 'node:test';
import { pathOf } from '../acceptance/support/knowledge-grid.ts';
import { uniqueNaan } from '../acceptance/support/ko.ts';
import { startService } from '../acceptance/support/service.ts';
import { RecordedNodeRuntime } from './support/recorded-node-runtime.ts';
import type { Asked } from './support/runtime-of-others.ts';
import { runtimeKo } from './support/runtime-ko.ts';
import { until } from './support/until.ts';

const naan = uniqueNaan();
const service = await startService({ args: ['--runtimes', 'node,python', '--runtime-timeout', '60s'] });
after(() => service[Symbol.asyncDispose]());

/** Takes `DELETE /endpoints/<uri>`, or answers as one does that knows nothing of it. */
class RuntimeThatListens extends RecordedNodeRuntime {
  readonly deactivated: string[] = [];
  /** Called at each `DELETE`. */
  onDelete: () => void = () => undefined;
  knows = true;

  static override async start(activator: typeof service, engine: string): Promise<RuntimeThatListens> {
    const runtime = new RuntimeThatListens(activator, engine, 0);
    await runtime.listen();
    await runtime.register(true);
    return runtime;
  }

  protected override async handle(asked: Asked, response: ServerResponse): Promise<void> {
    if (asked.method !== 'DELETE') return super.handle(asked, response);
    const id = asked.path.slice('/endpoints/'.length);
    this.deactivated.push(id);
    this.onDelete();
    if (this.knows) this.held.delete(id);
    this.send(response, this.knows ? 200 : 405, {});
  }
}

const ofEngine = (engine: string, name: string) => runtimeKo({ naan, name, engine, code: { 'src/index.txt': '' } });

test('what left the shelf is deactivated at the runtimes after a refresh; what is activated again stays', async () => {
  await using runtime = await RuntimeThatListens.start(service, 'listens');
  const [stays, leaves] = [ofEngine('listens', 'stays'), ofEngine('listens', 'leaves')];
  await service.serve(stays, leaves);
  await until('both are active', () => (runtime.activations.length === 2 ? true : undefined));
  const gone = new Promise<void>((resolve) => (runtime.onDelete = resolve));
  await service.delete(`/kos/${leaves.id}`);
  await service.get('/actuator/activation/refresh');
  await gone;
  assert.deepEqual(runtime.deactivated, [pathOf(leaves).slice(1)]);
  assert.equal((await service.post(pathOf(stays), 1)).status, 200);
  assert.equal((await service.post(pathOf(leaves), 1)).status, 404);
});

test('a runtime that does not know deactivation is asked once, and goes on', async () => {
  await using runtime = await RuntimeThatListens.start(service, 'deaf');
  runtime.knows = false;
  const [stays, one, other] = [ofEngine('deaf', 'stays'), ofEngine('deaf', 'one'), ofEngine('deaf', 'other')];
  await service.serve(stays, one, other);
  const asked = new Promise<void>((resolve) => (runtime.onDelete = resolve));
  await service.delete(`/kos/${one.id}`);
  await service.reload(one);
  await asked;
  await service.delete(`/kos/${other.id}`);
  await service.reload(other);
  // What is deactivated at another runtime meanwhile shows that the time for it has passed.
  await using listens = await RuntimeThatListens.start(service, 'hears');
  const last = ofEngine('hears', 'last');
  await service.serve(last);
  await until('it is active', () => (listens.activations.length === 1 ? true : undefined));
  const heard = new Promise<void>((resolve) => (listens.onDelete = resolve));
  await service.delete(`/kos/${last.id}`);
  await service.reload(last);
  await heard;
  assert.equal(runtime.deactivated.length, 1);
  assert.equal((await service.post(pathOf(stays), 1)).status, 200);
});

for (const { engine, code } of [
  { engine: 'node', code: { 'src/index.js': 'module.exports = (input) => input + 1;' } },
  { engine: 'python', code: { 'src/main.py': 'def run(value):\n    return value + 1\n' } },
]) {
  test(`the ${engine} runtime of the service lets go of what left the shelf, and takes it back`, async () => {
    const active = async (): Promise<unknown> =>
      (await service.get(`/proxy/environments/${engine}`)).object['endpoints'];
    const ko = runtimeKo({ naan, name: `leaves${engine}`, engine, code });
    await service.serve(ko);
    assert.equal((await service.post(pathOf(ko), 1)).object['result'], 2);
    assert.equal(await active(), 1);
    await service.delete(`/kos/${ko.id}`);
    await service.reload(ko);
    await until('it is not active there', async () => ((await active()) === 0 ? true : undefined));
    await service.serve(ko);
    assert.equal((await service.post(pathOf(ko), 1)).object['result'], 2);
  });
}
