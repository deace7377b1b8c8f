/** What the callers of the service hear of calls without a result. */
import {
  bodyNotReadable,
  callerGone,
  codeError,
  executionFailed,
  executionTimeout,
  invalidInput,
  invalidResult,
  outOfMemory,
  overloaded,
  processEnded,
} from '../../lib/errors.ts';
import { cutWords } from '../../lib/text.ts';
import { CallFailure } from './call-failure.ts';
import type { FailureKind } from './call-failure.ts';

export const wasUnloaded = (error: Error): boolean => error instanceof CallFailure && error.kind === 'unloaded';

export function toServiceError(error: Error): Error {
  if (!(error instanceof CallFailure)) return error;
  const { kind, message, status, place } = error;
  const words = cutWords(message);
  if (kind === 'invalid' && status !== undefined) return invalidInput(words, status);
  if (kind === 'unreadable')
    return bodyNotReadable(
      `The request body is not JSON: ${words.replace(/^SyntaxError: |^The body is not JSON: /, '')}`,
    );
  if (kind === 'busy') return overloaded(words);
  if (kind === 'gone') return callerGone(message);
  return (ERRORS[kind] ?? executionFailed)(words, { place });
}

const ERRORS: { readonly [Kind in FailureKind]?: typeof executionFailed } = {
  ...{ thrown: codeError, invalid: codeError, unloaded: codeError },
  ...{ timeout: executionTimeout, memory: outOfMemory, ended: processEnded, unwritable: invalidResult },
};
