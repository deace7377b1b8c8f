/** What an audit record says of an activation: what is active since, and what could not be activated. */
import type { BecameActive, ChangeOutcome } from '../../activation/became-active.ts';
import { someOf } from '../../lib/text.ts';
import type { AuditEntry } from './audit.ts';
import { atIdsOf, MAX_NAMED } from './audited-names.ts';

type Audited = Pick<AuditEntry, 'atId' | 'digest' | 'digests' | 'notActive' | 'outcome'>;

/** `isNamed`: of one knowledge object that was asked for. */
export const auditedActivation = (outcome: ChangeOutcome, isNamed: boolean): Audited => ({
  ...digestsOf(outcome.active, isNamed),
  ...howItEnded(outcome),
});

/** Which content is active since: of a KO that was named always, of all others where it is another than before. */
function digestsOf(active: readonly BecameActive[], isNamed: boolean): Pick<AuditEntry, 'atId' | 'digest' | 'digests'> {
  const told = isNamed ? active : active.filter(({ isNew }) => isNew);
  const [first] = told;
  if (first === undefined) return {};
  if (isNamed && told.length === 1)
    return { digest: first.digest, ...(first.atId === undefined ? {} : { atId: first.atId }) };
  const all = told.map(({ ko, digest }) => `${ko} ${digest}`);
  return { digests: someOf(all, MAX_NAMED), ...atIdsOf(told) };
}

/** What could not be activated is told, and the rest is active. */
function howItEnded({ active, endpoints, failed }: ChangeOutcome): Pick<AuditEntry, 'notActive' | 'outcome'> {
  if (failed.length === 0) return { outcome: 'done' };
  const notActive = `${failed.length} of ${Math.max(endpoints, failed.length)}: ${someOf(failed, MAX_NAMED)}`;
  return { notActive, outcome: active.length === 0 ? 'failed' : 'partly' };
}
