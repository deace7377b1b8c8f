/** Where an endpoint of a remote engine can be called: at a runtime that holds it, or in own workers. */
import type { Call } from '../engine.ts';

export interface CallPlace {
  /** It has gone for good. */
  readonly closed: boolean;
  /** False while it cannot be reached. */
  readonly up: boolean;
  /** Gives the result as JSON text. @throws RuntimeUnreachable; RuntimeSilent; AnswerTooLarge; ServiceError. */
  call(call: Call): Promise<string>;
  /** It could not be reached. */
  lose(): void;
  /** Asks one that is silent whether it is still there. */
  ask(): void;
  /** The endpoint is needed there no more. */
  release(): void;
}
