/**
 * Who makes the changes of a shelf that are begun while a request is handled: a store that can keeps the record of a
 * change in the transaction of that change.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { AuditRecord } from './audit/audit-store.ts';

export type ChangeAuthor = Pick<AuditRecord, 'who' | 'login' | 'requestId' | 'remoteAddress'>;

interface Scope {
  readonly author: ChangeAuthor;
  /** What was kept with the change itself. */
  readonly kept: Set<string>;
}

const scopes = new AsyncLocalStorage<Scope>();

/** All that `work` begins is by that author. */
export function changeAs<T>(author: ChangeAuthor, work: () => T): T {
  return scopes.run({ author, kept: new Set() }, work);
}

export const currentAuthor = (): ChangeAuthor | undefined => scopes.getStore()?.author;

/** The record of that change is kept already. */
export function noteKept({ action, subject }: Pick<AuditRecord, 'action' | 'subject'>): void {
  scopes.getStore()?.kept.add(`${action} ${subject}`);
}

/** Whether the record was kept with its change; of each once. */
export const wasKept = ({ action, subject, outcome }: AuditRecord): boolean =>
  outcome === 'done' && scopes.getStore()?.kept.delete(`${action} ${subject}`) === true;
