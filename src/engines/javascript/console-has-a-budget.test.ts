import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConsoleBudget } from './engine.ts';

/** Lines of 2000 characters, so many a second, for some seconds. */
function written(perSecond: number, seconds: number): ReturnType<ConsoleBudget['take']>[] {
  const budget = new ConsoleBudget();
  return Array.from({ length: perSecond * seconds }, (_, i) => budget.take(2000, (i * 1000) / perSecond));
}

test('what writes a little is never cut', () => {
  assert.ok(written(40, 60).every((each) => each === 'yes'));
});

test('a flood is cut to what the log can take, and each gap is told once', () => {
  const flood = written(100_000, 10);
  const lines = flood.filter((each) => each === 'yes').length;
  assert.ok(lines > 300 && lines < 800, `${lines} lines in 10 s`);
  const gaps = flood.filter((each) => each === 'last').length;
  assert.ok(gaps > 0 && gaps < 30, `${gaps} gaps`);
  for (const [i, each] of flood.entries()) if (each === 'last') assert.equal(flood[i + 1], 'no');
});

test('a long silence brings back no more than one burst', () => {
  const budget = new ConsoleBudget();
  for (let i = 0; i < 1000; i++) budget.take(2000, 0);
  const lines = Array.from({ length: 1000 }, () => budget.take(2000, 1e9)).filter((each) => each === 'yes').length;
  assert.ok(lines > 50 && lines < 80, `${lines} lines`);
});
