import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pino } from 'pino';
import type { AuditRecord, AuditStore } from './audit-store.ts';
import { Audit } from './audit.ts';

const record = (subject: string): AuditRecord => ({
  ...{ who: 'ann', login: 'basic', action: 'import', outcome: 'done', requestId: 'r', remoteAddress: '192.0.2.1' },
  subject,
});

test('a store that keeps nothing for a while is given so many records, and one line says how many it was not given', async () => {
  const kept: string[] = [];
  const { promise: back, resolve } = Promise.withResolvers<void>();
  const store: AuditStore = {
    append: async ({ subject }) => {
      kept.push(subject);
      await back;
    },
    read: () => Promise.resolve({ records: [], more: false }),
    follow: () => Promise.resolve({ next: () => Promise.resolve([]) }),
    trim: () => Promise.resolve(),
  };
  const lines: Record<string, unknown>[] = [];
  const log = pino({}, { write: (line: string) => lines.push(JSON.parse(line) as Record<string, unknown>) });
  const audit = new Audit(log, store);
  for (let i = 0; i < 5000; i++) audit.write(record(`ko ${i}`));
  assert.equal(kept.length, 1000);
  assert.equal(lines.length, 5000, 'the log has each of them');
  resolve();
  await audit.settled();
  assert.deepEqual(
    lines.slice(5000).map(({ event, dropped }) => [event, dropped]),
    [['audit-not-kept', 4000]],
  );
  audit.write(record('later'));
  assert.equal(kept.at(-1), 'later');
});
