/**
 * "Slow or silent clients cannot hold a connection beyond requestTimeout + check interval; 1,000 of them do not stop
 * good clients."
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as later } from 'node:timers/promises';
import { pathOf } from '../acceptance/support/knowledge-grid.ts';
import { uniqueNaan } from '../acceptance/support/ko.ts';
import { startService } from '../acceptance/support/service.ts';
import { Companion, wellBehavedKo } from '../hostile/support/companion.ts';
import { assertBackTo, restingFootprintOf } from '../hostile/support/footprint.ts';
import { inRound } from '../support/round.ts';
import { promised } from '../support/promised.ts';
import { RawClient, postHead } from './support/raw-client.ts';

/** Milliseconds of `--request-timeout` and `--upload-timeout`. */
const REQUEST = 2000;
const UPLOAD = 3000;
/** How often connections are looked at. */
const LOOK = 1000;
const OF_EACH_KIND = inRound(40, 200);
/** Bytes that one costs, and that are kept for the next. */
const A_CONNECTION = 100 * 1024;

const ko = wellBehavedKo(uniqueNaan());
const call = postHead(pathOf(ko), { 'Content-Type': 'application/json', 'Content-Length': 1000 });
const upload = postHead('/kos', { 'Content-Type': 'multipart/form-data; boundary=b', 'Content-Length': 10_000 });
const part = '--b\r\nContent-Disposition: form-data; name="ko"; filename="a.zip"\r\n\r\nPK';

/** What a client sends at once, and what it goes on sending bit by bit; how long it may be there. */
const kinds = {
  'says nothing': { first: '', limit: REQUEST },
  'stops in the middle of its headers': { first: call.slice(0, 60), limit: REQUEST },
  'sends its headers letter by letter': { first: call.slice(0, 30), bits: 'X', limit: REQUEST },
  'stops in the middle of its body': { first: `${call}{"a":`, limit: REQUEST },
  'sends its body letter by letter': { first: `${call}{"a":"`, bits: 'x', limit: REQUEST },
  'stops in the middle of its upload': { first: `${upload}${part}`, limit: UPLOAD },
} as const;

test('slow and silent connections', async (t) => {
  await using service = await startService({
    args: ['--request-timeout', `${REQUEST}ms`, '--upload-timeout', `${UPLOAD}ms`],
  });
  await service.serve(ko);
  const before = await restingFootprintOf(service.pid);
  using companion = new Companion(service, ko);
  using stack = new DisposableStack();
  const clients = await Promise.all(
    Object.values(kinds).flatMap((kind) =>
      Array.from({ length: OF_EACH_KIND }, async () => {
        const client = await stack.use(new RawClient(service.url)).connected();
        client.write(kind.first);
        return { client, kind };
      }),
    ),
  );
  const dripping = setInterval(() => {
    for (const { client, kind } of clients) if ('bits' in kind) client.write(kind.bits);
  }, 250);
  stack.defer(() => clearInterval(dripping));
  const longest = UPLOAD + LOOK;
  const closed = Promise.all(clients.map(({ client }) => client.closed));
  await Promise.race([closed, later(promised(4 * longest), undefined, { ref: false })]);
  for (const [name, kind] of Object.entries(kinds)) {
    await t.test(`a client that ${name} is closed in time`, () => {
      const own = clients.filter((each) => each.kind === kind);
      assert.equal(own.length, OF_EACH_KIND);
      for (const { client } of own) {
        const { ended, began, status } = client;
        assert.ok(ended !== undefined, 'it is still connected');
        const allowed = companion.pace.allowed(kind.limit + LOOK + 500, began, ended - began);
        assert.ok(ended - began < allowed, `${ended - began} ms, allowed are ${allowed}`);
        assert.ok(status === 408 || status === 400 || status === 0, client.received);
      }
    });
  }
  await t.test('meanwhile others were answered right and in time', () => companion.assertUndisturbed());
  await t.test('afterwards the service is where it was', () =>
    assertBackTo(before, service.pid, { memory: clients.length * A_CONNECTION }),
  );
});

test('connections beyond the most are closed, and there is room again when others go', async () => {
  await using service = await startService({ args: ['--max-connections', '20'] });
  using first = new DisposableStack();
  await Promise.all(Array.from({ length: 20 }, () => first.use(new RawClient(service.url)).connected()));
  using late = new RawClient(service.url);
  await late.closed;
  assert.equal(late.received, '');
  first.dispose();
  for (const until = Date.now() + 60_000; ;) {
    const answer = await service.get('/actuator/health/liveness').catch(() => undefined);
    if (answer?.status === 200) break;
    await later(20);
    assert.ok(Date.now() < until, 'there is no room again');
  }
});
