/** Where an endpoint can be called: in managed workers, or at an external runtime that holds it. */
import type { Call, RecordsCall } from '../engine.ts';
import type { RecordsAnswer } from '../records.ts';

export interface EndpointLocation {
  /** It has gone for good. */
  readonly closed: boolean;
  /** False while it cannot be reached. */
  readonly up: boolean;
  /** Gives the result as JSON text. @throws RuntimeUnreachable; RuntimeSilent; AnswerTooLarge; ServiceError. */
  call(call: Call): Promise<string>;
  /** Runs many records, where it can do that quicker than one after the other. Never rejects. */
  callRecords?(call: RecordsCall): Promise<RecordsAnswer>;
  /** It could not be reached. */
  lose(): void;
  /** Asks one that is silent whether it is still there. */
  ask(): void;
  /** The endpoint is no longer needed there. */
  release(): void;
}
