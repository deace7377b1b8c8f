/** Batches of a soak: whole, of records that fail or run into limits among good ones, and left in the middle. */
import assert from 'node:assert/strict';
import { setTimeout as later } from 'node:timers/promises';
import { pathOf } from '../../acceptance/support/knowledge-grid.ts';
import type { Ko } from '../../acceptance/support/ko.ts';
import type { OwnService } from '../../acceptance/support/service.ts';
import type { Line } from '../../batches/support/batch-client.ts';
import { RawClient, postHead } from './raw-client.ts';

export interface BatchKos {
  /** See `wellBehavedKo`. */
  readonly well: Ko;
  /** Gives the sum of its input and 1. */
  readonly nested: Ko;
  readonly hostile: readonly Ko[];
}

/** The result of a record; `undefined`: it fails, `ANY`: nobody knows. */
type Expected = unknown;
const ANY = Symbol('any');
const TYPE = 'application/x-ndjson';
/** On a busy machine any call may run into its limit, or find no sandbox. */
const MAY_FAIL = /^50[03] /;

/** A call of the well-behaved knowledge object, and its result. */
export const wellInput = (n: number): object => ({ a: n, b: 1, words: ['x', String(n)] });
export const wellResult = (n: number): object => ({ sum: n + 1, words: `${n} x`, clean: true });

export function batchVisits(service: OwnService, { well, nested, hostile }: BatchKos): (() => Promise<void>)[] {
  const send = async (ko: Ko, body: string, expected: readonly Expected[]): Promise<void> => {
    const { status, text } = await service.send('POST', pathOf(ko), { headers: { 'content-type': TYPE }, body });
    assert.equal(status, 200, text);
    const lines = text.split('\n').slice(0, -1);
    assert.equal(lines.length, expected.length);
    lines.forEach((line, at) => assertAnswer(JSON.parse(line) as Line, expected[at], at + 1));
  };
  const leave = async (body: string): Promise<void> => {
    using client = await new RawClient(service.url).connected();
    client.write(postHead(pathOf(well), { 'Content-Type': TYPE, 'Content-Length': 1e9 }) + body);
    await client.flushed();
    await later(50);
  };
  const numbers = (count: number): number[] => [...Array(count).keys()];
  const good = (count: number): string => linesOf(numbers(count).map(wellInput));
  return [
    () => send(well, good(2000), numbers(2000).map(wellResult)),
    () => send(well, `${good(50)}no json\n${good(50)}`, [...wellResults(50), undefined, ...wellResults(50)]),
    () => send(nested, '1\n2\n3\n', [2, 3, 4]),
    () => leave(good(5000)),
    () => leave(good(1).slice(0, 10)),
    ...hostile.map((ko) => () => send(ko, '{}\n{}\n', [ANY, ANY])),
  ];

  function wellResults(count: number): object[] {
    return numbers(count).map(wellResult);
  }
}

function assertAnswer({ result, error, line }: Line, expected: Expected, number: number): void {
  if (error === undefined) {
    if (expected !== ANY) assert.deepEqual(result, expected);
  } else {
    assert.equal(line, number);
    if (expected !== undefined) assert.match(error.Status, MAY_FAIL);
  }
}

const linesOf = (records: readonly object[]): string => records.map((each) => `${JSON.stringify(each)}\n`).join('');
