/** Calls that knowledge objects make of other endpoints: always through the activator, whatever runs them. */
import type { ActivatorClient } from '../activator/client.ts';
import { messageOf } from '../lib/errors.ts';
import { isUri } from '../lib/paths.ts';
import type { Call } from './call.ts';

export interface NestedAnswer {
  readonly status: number;
  readonly body: string;
}

const maxConcurrent = 100;

export class NestedCalls {
  readonly #activator: ActivatorClient;
  readonly #answerLimit: number;

  constructor(activator: ActivatorClient, answerLimit: number) {
    this.#activator = activator;
    this.#answerLimit = answerLimit;
  }

  /**
   * @param call the call whose code makes the request; the token that came with it proves its depth to the activator,
   *   which adds one.
   * @param request JSON `{uri, contentType, body}` from the worker.
   */
  async perform(call: Call | undefined, request: string): Promise<NestedAnswer> {
    try {
      if (!call || call.answered) return refuse('Another endpoint can be called only while a call is being answered');
      if (call.nested > maxConcurrent) return refuse(`One call waits for ${maxConcurrent} others already`);
      const { uri, contentType, body } = JSON.parse(request) as { uri: string; contentType: string; body: string };
      const path = uri.replace(/^(ark:)?\/*/, '');
      if (!isUri(path, 3)) return refuse(`Not an endpoint: ${uri.slice(0, 200)}`);

      const { depth, token, trace } = call.input;
      const left = Math.floor(call.deadline - performance.now());
      const answer = await this.#activator.exchange(path, {
        method: 'POST',
        headers: {
          'content-type': contentType,
          'x-kgrid-depth': String(depth),
          'x-kgrid-deadline-ms': String(left),
          ...(token === undefined ? {} : { 'x-kgrid-call-token': token }),
          ...trace,
        },
        body,
        timeoutMs: left,
        maxBytes: this.#answerLimit,
      });
      return { status: answer.status, body: answer.body.toString('utf8') };
    } catch (error) {
      return refuse(messageOf(error));
    }
  }
}

const refuse = (description: string): NestedAnswer => ({ status: 500, body: JSON.stringify({ description }) });
