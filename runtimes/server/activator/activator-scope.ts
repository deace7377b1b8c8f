/** Calls that knowledge objects make of other endpoints: always through the activator, whatever runs them. */
import { DEADLINE_HEADER, DEPTH_HEADER, TOKEN_HEADER } from '../../../src/engines/call-headers.ts';
import type { CallScope, NestedCall } from '../../../src/engines/engine.ts';
import { uptime } from '../../../src/lib/time.ts';
import { isUri } from '../lib/paths.ts';
import type { ActivatorClient } from './client.ts';

/** What came with the request for a call, and goes on with those that its code makes. */
export interface CallOrigin {
  /** 0 for a client's call, one more for each call of one knowledge object by another. */
  readonly depth: number;
  /** What the activator gave out with the request: it proves the depth, to which the activator adds one. */
  readonly token?: string | undefined;
  /** Headers by which the request is known in logs. */
  readonly trace?: Readonly<Record<string, string>> | undefined;
}

const DESCRIBE_MS = 10_000;

export class ActivatorScope implements CallScope {
  readonly #activator: ActivatorClient;
  readonly #answerLimit: number;
  readonly #origin: CallOrigin;

  constructor(activator: ActivatorClient, answerLimit: number, origin: CallOrigin) {
    this.#activator = activator;
    this.#answerLimit = answerLimit;
    this.#origin = origin;
  }

  /** Here is none: all are called by the activator. */
  find(): undefined {
    return undefined;
  }

  /** What the activator says of an endpoint, as JSON text; undefined where there is none. @throws Error. */
  async describe(id: string): Promise<string | undefined> {
    if (!isUri(id, 3)) throw new Error(`Not an endpoint: ${id.slice(0, 200)}`);
    const { status, body } = await this.#activator.exchange(`endpoints/${id}`, {
      method: 'GET',
      headers: { accept: 'application/json' },
      timeoutMs: DESCRIBE_MS,
      maxBytes: this.#answerLimit,
    });
    return status === 404 ? undefined : resultIn(status, body.toString('utf8'));
  }

  /** @throws Error in the activator's words. */
  async call(id: string, { body, contentType, deadline }: NestedCall): Promise<string> {
    if (!isUri(id, 3)) throw new Error(`Not an endpoint: ${id.slice(0, 200)}`);
    const { depth, token, trace } = this.#origin;
    const left = Math.floor(deadline - uptime());
    const answer = await this.#activator.exchange(id, {
      method: 'POST',
      headers: {
        'content-type': contentType,
        [DEPTH_HEADER]: String(depth),
        [DEADLINE_HEADER]: String(left),
        ...(token === undefined ? {} : { [TOKEN_HEADER]: token }),
        ...trace,
      },
      body,
      timeoutMs: left,
      maxBytes: this.#answerLimit,
    });
    return resultIn(answer.status, answer.body.toString('utf8'));
  }
}

/** The result as JSON text. @throws Error. */
function resultIn(status: number, text: string): string {
  const answer = parse(text);
  if (status < 300) return JSON.stringify(isRecord(answer) && 'result' in answer ? answer['result'] : answer);
  const said = isRecord(answer) ? (answer['Detail'] ?? answer['description']) : undefined;
  throw new Error(typeof said === 'string' ? said : `the activator answered ${status}`);
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
