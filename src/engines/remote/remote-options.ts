import type { Logger } from 'pino';
import type { CallTokens } from '../call-token.ts';
import type { RuntimeSharing } from './runtime-sharing.ts';

export interface RemoteOptions {
  /** Milliseconds a call may take where its endpoint sets no limit. */
  readonly callTimeout: number;
  /** Milliseconds an activation may take, with its dependencies. */
  readonly activationTimeout: number;
  /** Calls that may wait for one endpoint. */
  readonly queueLimit: number;
  /** Bytes of an answer. */
  readonly maxResult: number;
  /** Given out with each request that runs code. */
  readonly tokens: CallTokens;
  /** Where several activators use the same runtimes. */
  readonly sharing?: (() => RuntimeSharing | undefined) | undefined;
  readonly log: Logger;
}
