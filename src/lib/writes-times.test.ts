import assert from 'node:assert/strict';
import { test } from 'node:test';
import { humanTime, localTimestamp } from './time.ts';

/** The zone of this process; each test file has a process of its own. */
function inZone<T>(zone: string, work: () => T): T {
  process.env['TZ'] = zone;
  return work();
}

const FEBRUARY = Date.UTC(2021, 1, 24, 21, 18, 26);

test('a timestamp is local, without zone, to the microsecond', () => {
  inZone('America/New_York', () => {
    assert.equal(localTimestamp(FEBRUARY + 163.25), '2021-02-24T16:18:26.163250');
    assert.equal(localTimestamp(FEBRUARY), '2021-02-24T16:18:26.000000');
    assert.equal(localTimestamp(FEBRUARY + 7.5), '2021-02-24T16:18:26.007500');
  });
  inZone('Asia/Kolkata', () => assert.equal(localTimestamp(FEBRUARY), '2021-02-25T02:48:26.000000'));
});

test('timestamps of now follow each other', () => {
  const stamps = Array.from({ length: 100 }, () => localTimestamp());
  assert.deepEqual(stamps.toSorted(), stamps);
  for (const stamp of stamps) assert.match(stamp, /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}$/);
  assert.ok(new Set(stamps).size > 1, 'finer than a millisecond');
});

test('the time of an error is written as in the specification, with the zone that holds on that day', () => {
  const cases: [zone: string, date: Date, text: string][] = [
    ['America/New_York', new Date(FEBRUARY), 'Wed Feb 24 16:18:26 EST 2021'],
    ['America/New_York', new Date(Date.UTC(2021, 6, 4, 4, 5, 6)), 'Sun Jul 04 00:05:06 EDT 2021'],
    ['UTC', new Date(Date.UTC(2026, 0, 1)), 'Thu Jan 01 00:00:00 UTC 2026'],
    ['Asia/Kolkata', new Date(FEBRUARY), 'Thu Feb 25 02:48:26 GMT+5:30 2021'],
  ];
  for (const [zone, date, text] of cases)
    assert.equal(
      inZone(zone, () => humanTime(date)),
      text,
    );
});

test('the name of the zone is looked for once, however many errors there are', (t) => {
  const format = t.mock.method(Intl.DateTimeFormat.prototype, 'formatToParts');
  inZone('America/New_York', () => {
    for (let i = 0; i < 100; i++) assert.match(humanTime(new Date(FEBRUARY + i)), / EST 2021$/);
    assert.match(humanTime(new Date(Date.UTC(2021, 6, 4))), / EDT 2021$/);
  });
  assert.ok(format.mock.callCount() <= 2, `${format.mock.callCount()} times`);
});
