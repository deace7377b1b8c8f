/** A protocol is a way to call endpoints: it gets the execution core and gives routes. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { CallOrigin } from '../engines/call-token.ts';
import type { CallSignal, CallTrace } from '../engines/engine.ts';
import type { Execution } from '../execution/execution.ts';
import type { Principal } from '../identity/principal.ts';
import type { Logger } from '../lib/log.ts';
import type { Lifecycle } from '../lifecycle.ts';
import type { Bodies } from './body.ts';
import type { FastPath } from './fast-path.ts';
import type { RequestGate } from './request-gate.ts';

/** What the HTTP service lends to a protocol. */
export interface ProtocolService {
  readonly gate: RequestGate;
  readonly bodies: Bodies;
  /** Connections whose requests and answers may take as long as they like. */
  readonly streaming: { add(socket: Socket): unknown; delete(socket: Socket): unknown };
  readonly lifecycle: Pick<Lifecycle, 'stopping' | 'left' | 'leaving'>;
  readonly log: Logger;
}

export interface Protocol {
  addRoutes(app: FastifyInstance): void;
  /** Answers plain requests before the router sees them. */
  readonly fast?:
    | {
        /** What requests that it answers are called in measures and traces. */
        readonly method: string;
        readonly route: string;
        readonly path: FastPath;
      }
    | undefined;
}

export type MakeProtocol = (execution: Execution, service: ProtocolService) => Protocol;

/** What every call takes from the request that it came by, whatever the protocol. */
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
