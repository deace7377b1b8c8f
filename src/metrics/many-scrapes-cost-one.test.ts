import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Collected } from './collect.ts';
import { Exposition } from './exposition.ts';
import { Samples } from './text.ts';

/** Takes `milliseconds` of a clock for each text, in pieces. */
function expositionTaking(milliseconds: number) {
  const state = { now: 0, made: 0, turns: 0 };
  async function* collect(): AsyncGenerator<Collected> {
    state.made++;
    for (let i = 0; i < 2; i++) {
      const samples = new Samples('queue');
      samples.add(state.made, String(i));
      state.now += milliseconds / 2;
      yield samples;
      yield 'pause';
      await Promise.resolve();
    }
  }
  return { state, exposition: new Exposition(collect, () => state.now) };
}

test('whoever asks at the same time gets one text, in the form asked for', async () => {
  const { state, exposition } = expositionTaking(0);
  const formats = Array.from({ length: 50 }, (_, i) => (i % 2 === 0 ? 'text' : 'openmetrics'));
  const texts = await Promise.all(formats.map((format) => exposition.text(format)));
  assert.equal(state.made, 1);
  assert.equal(new Set(texts).size, 2);
  const [text = '', openmetrics = ''] = texts.map(String);
  assert.equal(text.split('# TYPE').length, 2, 'a family has its head once');
  assert.equal(openmetrics, `${text}# EOF\n`);
});

test('a text counts for a while that grows with the work that it took, and for a second at most', async () => {
  for (const [milliseconds, fresh] of [
    [1, 19],
    [10, 190],
    [1000, 1000],
  ] as const) {
    const { state, exposition } = expositionTaking(milliseconds);
    await exposition.text('text');
    state.now += fresh - 0.1;
    await exposition.text('text');
    assert.equal(state.made, 1, `${milliseconds} ms`);
    state.now += 0.2;
    assert.match(String(await exposition.text('text')), / 2\n/);
  }
});

test('others have their turn while a text is made', async () => {
  const { exposition } = expositionTaking(1);
  const order: string[] = [];
  const made = exposition.text('text').then(() => order.push('text'));
  setImmediate(() => order.push('other'));
  await made;
  assert.deepEqual(order, ['other', 'text']);
});

test('a text that could not be made is made with the next question', async () => {
  let fails = true;
  async function* collect(): AsyncGenerator<Collected> {
    await Promise.resolve();
    if (fails) throw new Error('not now');
    yield new Samples('queue');
  }
  const exposition = new Exposition(collect, () => 0);
  await assert.rejects(exposition.text('text'), /not now/);
  fails = false;
  assert.match(String(await exposition.text('text')), /kgrid_queue_calls/);
});
