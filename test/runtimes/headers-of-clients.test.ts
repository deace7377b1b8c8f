/** What clients say of depth and time decides nothing: only a token does, which a runtime got with the call. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { CallTokens } from '../../src/engines/call-token.ts';
import type { Answer, Send } from '../acceptance/support/client.ts';
import { pathOf } from '../acceptance/support/knowledge-grid.ts';
import { javascriptKo, uniqueNaan } from '../acceptance/support/ko.ts';
import type { Ko } from '../acceptance/support/ko.ts';
import { startService, temporaryFolder } from '../acceptance/support/service.ts';
import type { OwnService } from '../acceptance/support/service.ts';
import { inRound } from '../support/round.ts';
import { RecordedNodeRuntime } from './support/recorded-node-runtime.ts';
import { runtimeKo } from './support/runtime-ko.ts';
import type { Asked } from './support/runtime-of-others.ts';

const naan = uniqueNaan();
const folder = await temporaryFolder();
const keyFile = join(folder.path, 'key');
await writeFile(keyFile, randomBytes(32), { mode: 0o600 });
const withKey = ['--call-key-file', keyFile];
const service = await startService({ args: [...withKey, '--runtime-timeout', '3s'] });
after(async () => {
  await service[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

const TYPE = { 'content-type': 'application/json' };
const koOf = (name: string, engine: string): Ko =>
  runtimeKo({ naan, name, engine, code: { 'src/index.txt': 'code of the runtime' } });

/** A runtime with the endpoints `outer` and `inner`; `outer` calls what `address` says, with these headers of its own call. */
async function chain(
  at: OwnService,
  engine: string,
  { calls, pass }: { calls: (asked: Asked) => [send: Send, ko: Ko]; pass: (asked: Asked) => Record<string, string> },
): Promise<{ runtime: RecordedNodeRuntime; outer: Ko; inner: Ko }> {
  const [outer, inner] = [koOf(`${engine}outer`, engine), koOf(`${engine}inner`, engine)];
  const runtime = await RecordedNodeRuntime.start(at, engine);
  runtime.intercept = async (asked, response) => {
    if (asked.path !== pathOf(outer)) return false;
    const [send, ko] = calls(asked);
    const answer = await send('POST', pathOf(ko), {
      headers: { ...TYPE, ...pass(asked) },
      body: asked.body.toString(),
    });
    response.writeHead(answer.status, TYPE).end(answer.bytes);
    return true;
  };
  await at.serve(outer, inner);
  return { runtime, outer, inner };
}

/** Depth and milliseconds left that a runtime was told of its last call. */
const toldOf = ({ calls }: RecordedNodeRuntime): [depth: number, left: number] => {
  const headers = calls.at(-1)?.headers ?? {};
  return [Number(headers['x-kgrid-depth']), Number(headers['x-kgrid-deadline-ms'])];
};
const tokenOf = ({ headers }: Asked): Record<string, string> => ({
  'x-kgrid-call-token': String(headers['x-kgrid-call-token']),
});

const FORGED: readonly Record<string, string>[] = [
  { 'x-kgrid-depth': '-1', 'x-kgrid-deadline-ms': '1' },
  { 'x-kgrid-depth': '-1000000' },
  { 'x-kgrid-depth': '99' },
  { 'x-kgrid-depth': '1', 'x-kgrid-deadline-ms': '0' },
  { 'x-kgrid-depth': 'x'.repeat(4000), 'x-kgrid-deadline-ms': 'NaN' },
  { 'x-kgrid-call-token': '' },
  { 'x-kgrid-call-token': 'v1.x.y', 'x-kgrid-depth': '16' },
  { 'x-kgrid-call-token': 'x'.repeat(8000) },
  { 'x-kgrid-call-token': new CallTokens().give({ depth: 15, deadline: 60_000 }), 'x-kgrid-deadline-ms': '1' },
];

test('calls beside many that forge how little time is left are all answered', async () => {
  const js = javascriptKo('function run(input) { return input; }', { naan, name: 'attacked' });
  const remote = koOf('attackedremote', 'attacked');
  await using runtime = await RecordedNodeRuntime.start(service, 'attacked');
  await service.serve(js, remote);
  const rounds = Array.from({ length: inRound(11, 60) }, (_, round) => round);
  for (const round of rounds) {
    const answers = await Promise.all(
      [{}, ...FORGED, {}].flatMap((forged) =>
        [js, js, ...(round % 10 === 0 ? [remote] : [])].map((ko) =>
          service.send('POST', pathOf(ko), { headers: { ...TYPE, ...forged }, body: String(round) }),
        ),
      ),
    );
    for (const answer of answers) assert.equal(answer.object['result'], round, answer.text);
  }
  assert.ok(runtime.calls.every(({ headers }) => headers['x-kgrid-depth'] === '0'));
});

test('no header lets calls nest deeper than they may', async () => {
  const code = `function run(depth) { return 1 + context.getExecutor("${naan}/nests/1.0/run").execute(depth); }`;
  const nests = javascriptKo(code, { naan, name: 'nests' });
  await service.serve(nests);
  const detailOf = async (headers: Record<string, string>): Promise<unknown> =>
    (await service.post(pathOf(nests), 1, headers)).object['Detail'];
  const detail = await detailOf({});
  assert.match(String(detail), /may be 16 deep/);
  for (const forged of FORGED) assert.equal(await detailOf(forged), detail);
});

test('a runtime that brings the token back is one deeper, with the time of its call or less', async () => {
  await using runtimes = new AsyncDisposableStack();
  const start = async (name: string, pass: (asked: Asked) => Record<string, string>) => {
    const parts: { inner?: Ko } = {};
    const made = await chain(service, name, { calls: () => [service.send, parts.inner ?? assert.fail()], pass });
    parts.inner = made.inner;
    runtimes.use(made.runtime);
    const answer = await service.post(pathOf(made.outer), 7);
    assert.equal(answer.status, 200, answer.text);
    return toldOf(made.runtime);
  };
  const [depth, left] = await start('passes', tokenOf);
  assert.equal(depth, 1);
  assert.ok(left > 1500 && left <= 3000, `${left}`);
  const tighter = await start('tighter', (asked) => ({ ...tokenOf(asked), 'x-kgrid-deadline-ms': '1200' }));
  assert.equal(tighter[0], 1);
  assert.ok(tighter[1] <= 1200, `${tighter[1]}`);
  for (const wide of ['9999999', '-5', '1e2', '']) {
    const [deeper, wider] = await start(`wide${wide.length}`, (asked) => ({
      ...tokenOf(asked),
      'x-kgrid-deadline-ms': wide,
    }));
    assert.equal(deeper, 1);
    assert.ok(wider > 1200 && wider <= 3000, wide);
  }
  const bare = await start('bare', () => ({ 'x-kgrid-depth': '7', 'x-kgrid-deadline-ms': '1' }));
  assert.equal(bare[0], 0, 'without a token it begins anew');
  assert.ok(bare[1] > 1500);
  const [changed] = await start('changed', (asked) => ({
    'x-kgrid-call-token': `${tokenOf(asked)['x-kgrid-call-token']}x`,
  }));
  assert.equal(changed, 0);
});

test('an activator believes the tokens of another with the same key, and of no other', async () => {
  const withOther = [[], 0] as const;
  // Of another key there is a token among those that are forged.
  for (const [args, expected] of [[withKey, 1] as const, ...inRound([], [withOther])]) {
    await using other = await startService({ args });
    const parts: { inner?: Ko } = {};
    const calls = (): [Send, Ko] => [other.send, parts.inner ?? assert.fail()];
    const made = await chain(service, `with${args.length}`, { calls, pass: tokenOf });
    await using first = made.runtime;
    parts.inner = koOf('elsewhere', 'second');
    await using second = await RecordedNodeRuntime.start(other, 'second');
    await other.serve(parts.inner);
    assert.equal((await service.post(pathOf(made.outer), 1)).status, 200);
    assert.equal(toldOf(second)[0], expected);
    assert.equal(first.calls.length, 0);
  }
});

test('calls of each other at a runtime that knows no token end, and keep nobody else from an answer', async () => {
  await using small = await startService({ args: ['--runtime-timeout', '3s', '--queue-limit', '20'] });
  const js = javascriptKo('function run(input) { return input; }', { naan, name: 'beside' });
  await small.serve(js);
  const parts: { outer?: Ko } = {};
  const endless = await chain(small, 'endless', {
    calls: () => [small.send, parts.outer ?? assert.fail()],
    pass: () => ({ 'x-kgrid-depth': '-1' }),
  });
  parts.outer = endless.outer;
  await using runtime = endless.runtime;
  const state: { ended?: Answer } = {};
  const ended = small.post(pathOf(endless.outer), 1).then((answer) => (state.ended = answer));
  while (state.ended === undefined) {
    assert.equal((await small.post(pathOf(js), 1)).object['result'], 1);
    await wait(20);
  }
  assert.match(String((await ended).status), /^50[034]$/);
  assert.equal((await small.post(pathOf(endless.inner), 5)).object['result'], 5, 'the runtime is free again');
  assert.equal(runtime.calls.length, 1);
});
