/**
 * `POST /{uri}` with many calls in one request, for an activator that has several at once. The answer to
 * `POST /endpoints` offers it as `"batch": true`; a call by itself works as ever.
 *
 * The body, of type `application/vnd.kgrid.calls`, is JSON inputs joined by NUL, which no JSON text holds. The answer
 * is a stream of records, each ended by NUL, in the order in which calls end: `<number>=<result as JSON>`, or
 * `<number>!<status>,<description>`; for an activator that accepts it, the latter is `<number>!` and a JSON object with
 * `status` and what the answer to a single call would hold.
 */
import type { ServerResponse } from 'node:http';
import { ANSWERS_ACCEPTED, ANSWERS_TYPE } from '../../../src/engines/call-headers.ts';
import type { CodePlace } from '../../../src/lib/code-place.ts';

export type Outcome = { readonly ok: true; /** JSON text. */ readonly result: string } | FailedCall;

export interface FailedCall extends Reason {
  readonly ok: false;
}

export interface Reason {
  /** HTTP status. */
  readonly status: number;
  readonly description: string;
  /** What became of the code, in the words of the service's errors. */
  readonly fault?: string;
  /** `Invalid Input`, where the code says so. */
  readonly title?: string;
  /** Where in the knowledge object. */
  readonly place?: CodePlace;
}

/** Runs one input; `number`: its place in the request. */
export type Submit = (body: string, json: boolean, done: (outcome: Outcome) => void, number?: number) => void;

/** Whether the header `Accept` says so. */
export const takesFailuresAsJson = (accept: string | undefined): boolean => accept?.includes(ANSWERS_ACCEPTED) ?? false;

export function answerCalls(body: string, response: ServerResponse, submit: Submit, failuresAsJson: boolean): void {
  const inputs = body.split('\0');
  let left = inputs.length;
  let ready = '';
  let flushing = false;
  response.setHeader('content-type', ANSWERS_TYPE);
  const flush = (): void => {
    flushing = false;
    // Where all is ready at once, Node sends it in one piece with its length.
    if (left === 0) response.end(ready);
    else response.write(ready);
    ready = '';
  };
  for (const [i, input] of inputs.entries()) {
    const done = (outcome: Outcome): void => {
      left--;
      ready += `${i}${recordOf(outcome, failuresAsJson)}\0`;
      if (flushing) return;
      flushing = true;
      setImmediate(flush);
    };
    submit(input, true, done, i);
  }
}

/** The code of a knowledge object writes the result, and must not be able to write a record of another call. */
export function recordOf(outcome: Outcome, failuresAsJson: boolean): string {
  if (outcome.ok && !outcome.result.includes('\0')) return `=${outcome.result}`;
  const failed: Reason = outcome.ok ? { status: 500, description: 'The result is not JSON' } : outcome;
  const { status, title, description, place, fault } = failed;
  if (failuresAsJson) return `!${JSON.stringify({ status, title, description, place, fault })}`;
  return `!${status},${description.replaceAll('\0', ' ')}`;
}
