/** What every call takes from the request that it came by, whatever the protocol. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { CallOrigin } from '../engines/call-token.ts';
import type { CallSignal, CallTrace } from '../engines/engine.ts';
import type { Principal } from '../identity/principal.ts';

export interface CallOfRequest {
  readonly trace: CallTrace;
  readonly origin: CallOrigin | undefined;
  /** Address of the client. */
  readonly caller: string | undefined;
  readonly principal: Principal;
}

/** `trace`: of `RequestIds.traceOf`, so that the answer can name it too. `principal`: of `Identity.caller`. */
export const callOfRequest = (request: IncomingMessage, trace: CallTrace, principal: Principal): CallOfRequest => ({
  trace,
  origin: principal.origin,
  caller: request.socket.remoteAddress,
  principal,
});

/** True once nobody can read the answer; cheaper than a controller for each call. */
export class ClientGone implements CallSignal {
  readonly #response: ServerResponse;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  get aborted(): boolean {
    return this.#response.closed;
  }
}
