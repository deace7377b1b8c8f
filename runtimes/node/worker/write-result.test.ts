import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { OddNumber, writeResult } from './write-result.ts';

describe('a result', () => {
  it('is what JSON makes of it', () => {
    const values = [
      null,
      undefined,
      () => 1,
      Symbol('s'),
      'null',
      { a: null, b: [null, { c: 1 }], d: undefined, e: () => 1 },
      [undefined, new Date(0), new Date(NaN)],
      { toJSON: () => ({ a: null }) },
      new Map([[1, NaN]]),
      new Number(3),
      -0,
      '\ud800',
    ];
    for (const value of values) assert.equal(writeResult(value), JSON.stringify(value) ?? 'null');
  });

  for (const [place, value] of [
    ['NaN at result', NaN],
    ['-Infinity at result', -Infinity],
    ['NaN at result', new Number(NaN)],
    ['NaN at result.score', { score: NaN }],
    ['-Infinity at result.list[3].x', { list: [null, null, { x: 1 }, { y: null, x: -1 / 0 }] }],
    ['Infinity at result[1][0]', [[1, null], [Infinity]]],
    ['NaN at result["two words"]["1"].é', { 'two words': { 1: { é: NaN } } }],
    ['NaN at result[""]', { '': NaN }],
    ['NaN at result["a\\"b"]', { 'a"b': NaN }],
    ['NaN at result.a.b', { a: { toJSON: () => ({ b: NaN }) } }],
    ['NaN at result["0"]', new Float64Array([NaN])],
    ['NaN at result.second.x', { first: { x: 1 }, second: { x: NaN } }],
  ] as const) {
    const expected = place.replace('.é', '["é"]');
    it(`that holds ${expected} is an error that says so`, () => {
      assert.throws(() => writeResult(value), { constructor: OddNumber, message: `the result holds ${expected}` });
    });
  }

  it('is found in what is shared and met twice', () => {
    const shared = { n: 1, none: null };
    assert.throws(() => writeResult({ a: shared, b: shared, c: { d: shared, e: NaN } }), {
      message: 'the result holds NaN at result.c.e',
    });
  });

  it('has no place longer than 200 characters', () => {
    const deep = (depth: number): unknown => (depth === 0 ? NaN : { name: deep(depth - 1) });
    for (const value of [deep(100), { ['x'.repeat(100_000)]: NaN }]) {
      assert.throws(
        () => writeResult(value),
        ({ message }: Error) => message.length === 'the result holds NaN at '.length + 200 && message.endsWith('…'),
      );
    }
  });
});
