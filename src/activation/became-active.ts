/** Which content a change of the endpoints made active. */
import type { Endpoint } from './endpoint.ts';

export interface BecameActive {
  /** `<naan>/<name>/<version>`. */
  readonly ko: string;
  /** Of its package, as the shelf has it: hex. */
  readonly digest: string;
  /** False where the same content was active before. */
  readonly isNew: boolean;
}

/** `made`: the endpoints of the change, `before`: those in whose place they are. */
export function becameActive(made: readonly Endpoint[], before: readonly Endpoint[]): BecameActive[] {
  const old = digestsOf(before);
  return [...digestsOf(made)].map(([ko, digest]) => ({ ko, digest, isNew: old.get(ko) !== digest }));
}

/** Of a remote endpoint that is not decided yet it is what is on its way. */
const digestsOf = (endpoints: readonly Endpoint[]): Map<string, string> =>
  new Map(
    endpoints
      .filter(({ status }) => status !== 'FAILED_TO_ACTIVATE')
      .map(({ ko }) => [ko.key, ko.package.entry.digest]),
  );
