/** The files of the audit and their lines, for those who write them and those who only look. */
import type { KeptAuditRecord } from '../../audit/audit-store.ts';

const NAME = /^\d{15}\.jsonl$/;

/** The oldest first. */
export const auditFileNames = (names: readonly string[]): string[] => names.filter((name) => NAME.test(name)).sort();

/** A line that broke off, as when the power fails, is no record, nor is what somebody wrote by hand. */
export function recordIn(line: string): KeptAuditRecord | undefined {
  try {
    const value = line === '' ? undefined : (JSON.parse(line) as unknown);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isRecord(value: unknown): value is KeptAuditRecord {
  if (typeof value !== 'object' || value === null) return false;
  const { id, time, who, subject } = value as Partial<Record<keyof KeptAuditRecord, unknown>>;
  return Number.isSafeInteger(id) && [time, who, subject].every((field) => typeof field === 'string');
}
