/** Which content a change of the endpoints made active. */
import { koKey } from '../knowledge-object/id.ts';
import type { Endpoint } from './endpoint.ts';
import type { LoadFailure } from './endpoint-set.ts';

export interface BecameActive {
  /** `<naan>/<name>/<version>`. */
  readonly ko: string;
  /** Its `@id`, where that is another text. */
  readonly atId: string | undefined;
  /** Of its package, as the shelf has it: hex. */
  readonly digest: string;
  /** False where the same content was active before. */
  readonly isNew: boolean;
}

/** What a change of the endpoints came to. */
export interface ChangeOutcome {
  readonly active: readonly BecameActive[];
  /** Endpoints that it made. */
  readonly endpoints: number;
  /** Those of them that cannot be called, and knowledge objects of which none could be loaded. */
  readonly failed: readonly string[];
}

/** `made`: the endpoints of the change, `before`: those in whose place they are. */
export const outcomeOf = (
  made: readonly Endpoint[],
  before: readonly Endpoint[],
  failures: readonly LoadFailure[],
): ChangeOutcome => ({
  active: becameActive(made, before),
  endpoints: made.length,
  failed: [
    ...made.filter(({ status }) => status === 'FAILED_TO_ACTIVATE').map(({ id }) => id),
    ...failures.filter(({ isFault }) => isFault !== false).map(({ id }) => koKey(id)),
  ],
});

/** In the order of their places. `made`: the endpoints of the change, `before`: those in whose place they are. */
export function becameActive(made: readonly Endpoint[], before: readonly Endpoint[]): BecameActive[] {
  const old = contentOf(before);
  return [...contentOf(made)]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([ko, { atId, digest }]) => ({
      ko,
      atId: atId === ko ? undefined : atId,
      digest,
      isNew: old.get(ko)?.digest !== digest,
    }));
}

/** An endpoint of a runtime that is not decided yet counts as what is on its way. */
const contentOf = (endpoints: readonly Endpoint[]): Map<string, { readonly atId: string; readonly digest: string }> =>
  new Map(
    endpoints
      .filter(({ status }) => status !== 'FAILED_TO_ACTIVATE')
      .map(({ ko }) => [ko.key, { atId: ko.atId, digest: ko.entry.digest }]),
  );
