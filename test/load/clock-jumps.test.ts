/** Somebody sets the machine's clock while calls and requests are on their way: limits hold all the same. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { pathOf } from '../acceptance/support/knowledge-grid.ts';
import { javascriptKo, uniqueNaan } from '../acceptance/support/ko.ts';
import { startService } from '../acceptance/support/service.ts';
import { Pace } from '../hostile/support/pace.ts';
import { tryAgain } from '../support/try-again.ts';
import { RawClient, postHead } from './support/raw-client.ts';

const LIMIT = 1500;
const clock = join(import.meta.dirname, 'support/jumping-clock.ts');
const service = await startService({
  args: ['--execution-timeout', `${LIMIT}ms`, '--request-timeout', '2s'],
  env: { NODE_OPTIONS: `--import=${clock}` },
});
const pace = new Pace();
after(async () => {
  pace[Symbol.dispose]();
  await service[Symbol.asyncDispose]();
});
const naan = uniqueNaan();
const native = javascriptKo('function run() { return [].indexOf.call({ length: 2 ** 53 - 1 }, 1); }', {
  naan,
  name: 'native',
});
const slow = javascriptKo(
  `function run(n) {
    console.log('it runs: ' + n);
    const end = Date.now() + 500;
    while (Date.now() < end);
    return n;
  }`,
  { naan, name: 'slow' },
);
await service.serve(native, slow);

let jumps = 0;
async function jump(): Promise<void> {
  const wanted = ++jumps;
  process.kill(service.pid, 'SIGUSR2');
  await service.logged(() => service.log.filter(({ event }) => event === 'jumped').length >= wanted);
}

let calls = 0;
/** A call of the slow one, in the midst of which something happens. */
async function callWhile(happens: () => Promise<void>): Promise<boolean> {
  const n = ++calls;
  const called = service.post(pathOf(slow), n);
  await Promise.race([called, service.logged(({ msg }) => msg === `it runs: ${n}`)]);
  await happens();
  const { status, object, text } = await called;
  if (status === 200) assert.equal(object['result'], n, text);
  return status === 200;
}

/** On a machine where calls without a jump come to their limit too, nothing can be told of one call; of all of these it can. */
const MOST_ATTEMPTS = 20;

/** Fails where it is the jump that ends a call: none of many then ends well, while calls without a jump do. */
async function assertCallsGoOn(): Promise<void> {
  let withoutJump = 0;
  for (let i = 0; i < MOST_ATTEMPTS; i++) {
    if (await callWhile(jump)) return;
    // Back to where the clock was, to jump in the same direction again.
    await jump();
    if (await callWhile(() => Promise.resolve())) withoutJump++;
  }
  assert.equal(withoutJump, 0, 'only the calls during which the clock jumps fail');
}

for (const direction of ['back', 'forward']) {
  test(`when the clock jumps ${direction} calls end as they would have`, async () => {
    const began = performance.now();
    const since = (): number => performance.now() - began;
    let asked = 0;
    const hopeless = tryAgain(() => {
      asked = since();
      return service.post(pathOf(native), 1);
    }).then((answer) => ({ answer, took: since() - asked }));
    using client = await new RawClient(service.url).connected();
    client.write(`${postHead(pathOf(slow), { 'Content-Type': 'application/json', 'Content-Length': 10 })}[`);
    const closed = client.closed.then(since);
    await assertCallsGoOn();
    const { answer, took } = await hopeless;
    assert.equal(answer.status, 500, answer.text);
    assert.ok(took >= LIMIT && took < LIMIT + pace.allowed(1000, Date.now() - took, took), `${took} ms`);
    const all = await closed;
    assert.equal(client.status, 408);
    assert.ok(all < pace.allowed(6000, Date.now() - all, all), `${all} ms`);
    assert.equal((await service.get('/actuator/health')).object['status'], 'UP');
  });
}
