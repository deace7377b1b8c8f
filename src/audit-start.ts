/** "Each activation made by a start has an audit record": one for all of them, bounded as that of a reload of all. */
import type { EndpointSet } from './activation/endpoint-set.ts';
import { outcomeOf } from './activation/became-active.ts';
import { auditedActivation } from './http/access/audited-activation.ts';
import type { Audit } from './shelf/audit/audit.ts';

/** Nothing of a shelf on which nothing is to be activated. */
export function auditStart(audit: Pick<Audit, 'write'>, { endpoints, failures }: EndpointSet): void {
  if (endpoints.length + failures.length === 0) return;
  const about = auditedActivation(outcomeOf(endpoints, [], failures), false);
  audit.write({
    ...{ who: 'kgrid-activator', login: 'start', action: 'start', subject: 'all', ...about },
    ...{ requestId: '', remoteAddress: '' },
  });
}
