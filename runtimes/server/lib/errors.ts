/** Errors that only a runtime has, beside those of the service. The message is the `description` of the answer. */
import { ActivationFailure } from '../../../src/engines/engine.ts';
import { codeOf } from '../../../src/engines/supervisor/packages/errors.ts';
import { crossSiteRefused, notAuthenticated, ServiceError } from '../../../src/lib/errors.ts';

export const unauthenticated = (): ServiceError =>
  notAuthenticated('This runtime takes requests only from the activator that started it');
export const crossSite = (): ServiceError => crossSiteRefused('Requests of web pages are not taken here');
export const activatorUnreachable = (description: string): ServiceError =>
  new ServiceError('activator-unreachable', 502, 'Bad Gateway', description);

const IN_PROCESSING = 'in-processing';
export const inProcessing = (stage: string): ServiceError =>
  new ServiceError(IN_PROCESSING, 503, 'Endpoint is in processing, try again later.', stage, {
    headers: { 'retry-after': '1' },
  });
export const isInProcessing = (error: unknown): boolean =>
  error instanceof ServiceError && error.code === IN_PROCESSING;

/** Gives the error that the caller is answered; of an unforeseen one only its code, since the log has more. */
export function toServiceError(thrown: unknown): ServiceError {
  if (thrown instanceof ServiceError) return thrown;
  const isForeseen = thrown instanceof ActivationFailure;
  const description = isForeseen
    ? thrown.message
    : `The runtime could not do it (${codeOf(thrown) ?? 'internal error'})`;
  return new ServiceError(isForeseen ? 'not-activated' : 'internal', 500, 'Internal Server Error', description);
}
