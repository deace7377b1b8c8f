/**
 * `POST /{uri}` with many calls in one request, for an activator that has several at once. The answer to
 * `POST /endpoints` offers it as `"batch": true`; a call by itself works as ever.
 *
 * The body, of type `application/vnd.kgrid.calls`, is JSON inputs joined by NUL, which no JSON text holds. The answer
 * is a stream of records, each ended by NUL, in the order in which calls end: `<number>=<result as JSON>`, or
 * `<number>!<status>,<description>`.
 */
import type { ServerResponse } from 'node:http';
import type { Outcome } from '../workers/call.ts';

export const CALLS_TYPE = 'application/vnd.kgrid.calls';

/** Runs one input. */
export type Submit = (body: string, json: boolean, done: (outcome: Outcome) => void) => void;

export function answerCalls(body: string, response: ServerResponse, submit: Submit): void {
  const inputs = body.split('\0');
  let left = inputs.length;
  let ready = '';
  let flushing = false;
  response.setHeader('content-type', 'application/vnd.kgrid.answers');
  const flush = (): void => {
    flushing = false;
    // Where all is ready at once, Node sends it in one piece with its length.
    if (left === 0) response.end(ready);
    else response.write(ready);
    ready = '';
  };
  for (const [i, input] of inputs.entries()) {
    submit(input, true, (outcome) => {
      left--;
      ready += `${i}${recordOf(outcome)}\0`;
      if (flushing) return;
      flushing = true;
      setImmediate(flush);
    });
  }
}

/** The code of a knowledge object writes the result, and must not be able to write a record of another call. */
export function recordOf(outcome: Outcome): string {
  if (outcome.ok && !outcome.result.includes('\0')) return `=${outcome.result}`;
  const { status, description } = outcome.ok ? { status: 500, description: 'The result is not JSON' } : outcome;
  return `!${status},${description.replaceAll('\0', ' ')}`;
}
