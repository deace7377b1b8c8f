import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FAMILIES, type Family } from './families.ts';
import { CALL_BOUNDS, headOf, Histogram, labelsOf, Samples } from './text.ts';

test('a label holds any text on one line, and equal texts after that mean one series', () => {
  assert.equal(labelsOf(['a', 'b'], ['x"y\\z\nw', '']), '{a="x\\"y\\\\z\\nw",b=""}');
  assert.equal(labelsOf([], []), '');
  assert.equal(labelsOf(['a'], ['\ud800']), labelsOf(['a'], ['\udfff']));
  assert.ok(labelsOf(['a'], ['x'.repeat(10_000)]).length < 300);
  for (const text of ['\r', '\u2028', '\0', '}', '{', ' ', '#']) assert.equal(labelsOf(['a'], [text]), `{a="${text}"}`);
});

test('a histogram counts what is below each bound, with the bounds of OpenMetrics', () => {
  const histogram = new Histogram();
  for (const seconds of [0, 0.0005, 0.0006, 1, 1e9]) histogram.observe(seconds);
  histogram.observe(0.2, 1000);
  const samples = new Samples('requests');
  samples.addHistogram('{route="/"}', histogram);
  const lines = samples.take().toString().trimEnd().split('\n');
  const name = FAMILIES.requests.name;
  assert.equal(lines.length, CALL_BOUNDS.length + 3);
  for (const line of [
    `${name}_bucket{route="/",le="0.0005"} 2`,
    `${name}_bucket{route="/",le="0.1"} 3`,
    `${name}_bucket{route="/",le="0.25"} 1003`,
    `${name}_bucket{route="/",le="1.0"} 1004`,
    `${name}_bucket{route="/",le="30.0"} 1004`,
    `${name}_bucket{route="/",le="+Inf"} 1005`,
    `${name}_count{route="/"} 1005`,
  ])
    assert.ok(lines.includes(line), line);
  assert.equal(samples.take().length, 0);
  samples.addHistogram('', histogram);
  assert.match(samples.take().toString(), /_bucket\{le="0\.0005"\} 2\n/);
});

test('OpenMetrics has counters without their ending, the text with it', () => {
  assert.match(headOf(FAMILIES.executions, 'text'), /\n# TYPE kgrid_executions_total counter\n$/);
  assert.match(headOf(FAMILIES.executions, 'openmetrics'), /\n# TYPE kgrid_executions counter\n$/);
  assert.equal(headOf(FAMILIES.queue, 'text'), headOf(FAMILIES.queue, 'openmetrics'));
});

test('names, units and words are as Prometheus wants them', () => {
  const families: readonly Family[] = Object.values(FAMILIES);
  assert.equal(new Set(families.map(({ name }) => name)).size, families.length);
  for (const { name, type, labels, help } of families) {
    assert.match(name, /^[a-z]+(?:_[a-z]+)+$/);
    assert.equal(type === 'counter', name.endsWith('_total'), name);
    if (type === 'histogram') assert.match(name, /_seconds$/);
    for (const label of labels) assert.match(label, /^[a-z]+$/);
    // Nothing in it is escaped.
    assert.match(help, /^[^"\\\n]+[^.\n]$/);
  }
});
