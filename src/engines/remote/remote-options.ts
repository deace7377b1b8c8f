import type { Logger } from 'pino';
import type { CallTokens } from '../call-token.ts';

export interface RemoteOptions {
  /** Milliseconds a call may take. */
  readonly callTimeout: number;
  /** Milliseconds an activation may take, with its dependencies. */
  readonly activationTimeout: number;
  /** Calls that may wait for one endpoint. */
  readonly queueLimit: number;
  /** Bytes of an answer. */
  readonly maxResult: number;
  /** Given out with each request that runs code. */
  readonly tokens: CallTokens;
  readonly log: Logger;
}
