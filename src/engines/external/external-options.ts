import type { Logger } from 'pino';
import type { CallTokens } from '../call-token.ts';
import type { RuntimeSharing } from './runtime-sharing.ts';

export interface ExternalOptions {
  /** Limit of a call in milliseconds, where its endpoint sets none. */
  readonly callTimeout: number;
  /** Limit of an activation in milliseconds, including the installation of its dependencies. */
  readonly activationTimeout: number;
  /** Most calls that wait for one endpoint. */
  readonly queueLimit: number;
  /** Most bytes of an answer. */
  readonly maxResult: number;
  /** Go out with each request that runs code. */
  readonly tokens: CallTokens;
  /** Files are not for everybody: the address of those of an activation carries a proof. */
  readonly areFilesClosed?: boolean | undefined;
  /** Present where several activators use the same runtimes. */
  readonly sharing?: (() => RuntimeSharing | undefined) | undefined;
  /** Aborted when the service stops: no connection is waited for any more. */
  readonly stopped: AbortSignal;
  readonly log: Logger;
}
