import type { Logger } from 'pino';

export interface RemoteOptions {
  /** Milliseconds a call may take. */
  readonly callTimeout: number;
  /** Milliseconds an activation may take, with its dependencies. */
  readonly activationTimeout: number;
  /** Calls that may wait for one endpoint. */
  readonly queueLimit: number;
  /** Bytes of an answer. */
  readonly maxResult: number;
  readonly log: Logger;
}
