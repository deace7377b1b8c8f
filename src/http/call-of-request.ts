/** What every call takes from the request that it came by, whatever the protocol. */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { DEADLINE_HEADER, TOKEN_HEADER } from '../engines/call-headers.ts';
import type { CallOrigin, CallTokens } from '../engines/call-token.ts';
import type { CallSignal, CallTrace } from '../engines/engine.ts';
import { uptime } from '../lib/uptime.ts';

export interface CallOfRequest {
  readonly trace: CallTrace;
  readonly origin: CallOrigin | undefined;
  /** Address of the client. */
  readonly caller: string | undefined;
}

/** `trace`: of `RequestIds.traceOf`, so that the answer can name it too. */
export const callOfRequest = (request: IncomingMessage, trace: CallTrace, tokens: CallTokens): CallOfRequest => ({
  trace,
  origin: travelled(request.headers, tokens),
  caller: request.socket.remoteAddress,
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

/**
 * A call that comes from another KO, through its runtime: "Depth (16) and the time that is left travel with the call."
 * What headers say counts "only together with a signed token that the activator gave out with the call".
 */
function travelled(headers: IncomingHttpHeaders, tokens: CallTokens): CallOrigin | undefined {
  const token = headers[TOKEN_HEADER];
  const origin = token === undefined ? undefined : tokens.read(token);
  if (origin === undefined) return undefined;
  const said = headers[DEADLINE_HEADER];
  const left = typeof said === 'string' && MILLISECONDS.test(said) ? Number(said) : Infinity;
  return { depth: origin.depth + 1, deadline: Math.min(origin.deadline, uptime() + left) };
}

const MILLISECONDS = /^\d{1,12}$/;
