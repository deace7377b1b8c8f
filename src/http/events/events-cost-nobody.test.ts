import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { setImmediate as othersTurn } from 'node:timers/promises';
import { type Listener, ServiceEvents } from '../service-events.ts';
import type { AuditStore, KeptAuditRecord } from '../../shelf/audit/audit-store.ts';

mock.timers.enable({ apis: ['setInterval'] });

function setup() {
  const asked = { tokens: 0, reads: 0, follows: 0, nexts: 0 };
  const records: KeptAuditRecord[] = [];
  /** What a listener missed, the newest first. */
  const kept: KeptAuditRecord[] = [];
  const reading = { promise: Promise.resolve() };
  const problems: string[] = [];
  const state = { token: 'a', fails: false };
  const events = new ServiceEvents({
    state: {
      token: () => (asked.tokens++, Promise.resolve(state.token)),
      read: () => (asked.reads++, Promise.resolve({ type: 'state', catalogue: state.token })),
    },
    audit: {
      follow: () => {
        asked.follows++;
        if (state.fails) return Promise.reject(new Error('the database is away'));
        return Promise.resolve({ next: () => (asked.nexts++, Promise.resolve(records.splice(0))) });
      },
      read: async () => {
        await reading.promise;
        if (state.fails) throw new Error('away');
        return { records: kept, more: false };
      },
    } as unknown as AuditStore,
    onProblem: (cause) => problems.push(cause),
  });
  return { events, asked, records, kept, reading, problems, state };
}
/** What it can be given at once. */
const takenBy = (listener: Listener): string => String(listener.read() ?? '');
const pass = async (seconds: number): Promise<void> => {
  for (let i = 0; i < seconds; i++) {
    mock.timers.tick(1000);
    for (let turn = 0; turn < 5; turn++) await othersTurn();
  }
};
const record = (id: number, subject = ''): KeptAuditRecord => ({ id, subject }) as unknown as KeptAuditRecord;

test('who does not read is ended, and those who read get all', async () => {
  const { events, records } = setup();
  const [slow, quick] = [events.listen(undefined), events.listen(undefined)];
  await pass(1);
  let got = 0;
  for (let id = 1; id <= 300; id++) {
    records.push(record(id, 'x'.repeat(10_000)));
    await pass(1);
    got += takenBy(quick).match(/"type":"audit"/g)?.length ?? 0;
    assert.ok(slow.readableLength <= 2 ** 20);
  }
  assert.deepEqual([got, slow.destroyed, quick.destroyed, events.listeners], [300, true, false, 1]);
});

test('where the audit cannot be read it is said once, and told on when it can; who missed something asks again', async () => {
  const { events, records, problems, state } = setup();
  state.fails = true;
  const listener = events.listen(undefined);
  const missed = events.listen(7);
  await pass(5);
  assert.match(takenBy(listener), /"type":"state"/);
  assert.equal(missed.readableEnded || takenBy(missed) !== '', true);
  assert.ok(problems.length >= 1 && problems.length <= 3, problems.join());
  state.fails = false;
  records.push(record(8));
  await pass(3);
  assert.match(takenBy(listener), /"id":8/);
});

test('what comes while somebody is told what was missed comes after it, once, and steers no terminal', async () => {
  const { events, records, kept, reading } = setup();
  const { promise, resolve } = Promise.withResolvers<void>();
  reading.promise = promise;
  const listener = events.listen(1);
  await pass(1);
  const steering = '\u202e\u009b31m\n{"type":"forged"}';
  kept.push(record(3, steering), record(2));
  records.push(record(3, steering), record(4));
  await pass(1);
  assert.equal(takenBy(listener), '');
  resolve();
  await pass(1);
  const text = takenBy(listener);
  assert.doesNotMatch(text, /[^\P{Cc}\n]|\p{Cf}/u);
  const told = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { type: string; record?: { id: number } });
  assert.deepEqual(
    told.flatMap(({ record: each }) => (each === undefined ? [] : [each.id])),
    [2, 3, 4],
  );
  assert.ok(told.every(({ type }) => type === 'audit' || type === 'state'));
});
