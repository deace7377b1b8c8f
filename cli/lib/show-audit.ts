/** Records of an audit, of an activator or of a store, the newest first. */
import type { AuditQuery, AuditStore } from '../../src/shelf/audit/audit-store.ts';
import type { ActivatorClient } from './client.ts';
import { usageFailure } from './exit.ts';
import { fieldsOf } from './fields.ts';
import type { Fields } from './fields.ts';
import { refusal } from './refusal.ts';
import { columns } from './table.ts';

/** Records of one answer. */
const PAGE = 1000;

export interface FoundRecords {
  readonly records: readonly Fields[];
  readonly more: boolean;
}

export async function recordsIn(store: AuditStore, query: AuditQuery): Promise<FoundRecords> {
  const { records, more } = await store.read(query);
  return { records: records.map((each) => ({ ...each })), more };
}

/** @throws CommandFailure. */
export async function recordsAt(client: ActivatorClient, query: AuditQuery): Promise<FoundRecords> {
  const { limit, since, ko, who } = query;
  const records: Fields[] = [];
  for (let after: number | undefined; ;) {
    const asked = new URLSearchParams({ limit: String(Math.min(PAGE, limit - records.length)) });
    if (since !== undefined) asked.set('since', new Date(since).toISOString());
    for (const [name, value] of Object.entries({ ko, who, after }))
      if (value !== undefined) asked.set(name, String(value));
    const answer = await client.send(`/actuator/audit?${asked.toString()}`);
    if (answer.status !== 200) throw refusal(answer, client, 'does not show its audit');
    if (!Array.isArray(answer.body)) throw client.strange('GET /actuator/audit', answer);
    records.push(...answer.body.map(fieldsOf));
    const more = answer.headers.get('link')?.includes('rel="next"') === true;
    const last = records.at(-1)?.['id'];
    // A page that leads to itself would never end.
    if (!more || records.length >= limit || typeof last !== 'number' || (after !== undefined && last >= after))
      return { records, more };
    after = last;
  }
}

export function tableOf(records: readonly Fields[]): string[] {
  const word = (value: unknown): string => (typeof value === 'string' ? value : '');
  return columns([
    ['TIME', 'WHO', 'ACTION', 'OUTCOME', 'SUBJECT', 'DIGEST', 'FROM'],
    ...records.map((each) => [
      ...['time', 'who', 'action'].map((name) => word(each[name])),
      word(each['outcome']) + timesOf(each['times']),
      word(each['subject']),
      word(each['digest']).slice(0, 12),
      word(each['remoteAddress']),
    ]),
  ]);
}

/** Gives how often a record that stands for several happened. */
const timesOf = (times: unknown): string => (typeof times === 'number' && times > 1 ? ` ${times} times` : '');

const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };
const ISO_TIME = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:?\d\d)?)?$/;

/** Epoch milliseconds of a time, or of so long ago. @throws CommandFailure. */
export function timeOf(text: string): number {
  const [, amount, unit = ''] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  const time =
    amount !== undefined
      ? Date.now() - Number(amount) * (UNITS[unit] ?? 0)
      : ISO_TIME.test(text)
        ? Date.parse(text)
        : Number.NaN;
  if (Number.isNaN(time))
    throw usageFailure(
      `--since is '${text}', but must be a date or time such as 2026-11-20 or 2026-11-20T15:06:08Z, or how long ago, such as 30d, 12h or 10m`,
    );
  return time;
}
