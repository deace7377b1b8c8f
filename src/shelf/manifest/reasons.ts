import { NOT_CONNECTED } from '../../lib/until-stopped.ts';
import { ServiceError, importRefused } from '../../lib/errors.ts';

const REASONS: Readonly<Record<string, string>> = {
  ENOTFOUND: 'has a host that nobody knows',
  EAI_AGAIN: 'has a host that cannot be looked up now',
  ECONNREFUSED: 'has a host that does not answer there',
  EHOSTUNREACH: 'has a host that cannot be reached',
  ENETUNREACH: 'has a host that cannot be reached',
  ECONNRESET: 'broke off',
  UND_ERR_SOCKET: 'broke off',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'broke off',
  UND_ERR_CONNECT_TIMEOUT: 'has a host that does not answer',
  [NOT_CONNECTED]: 'was not connected before the service stopped',
};

/**
 * Why a location gave nothing, for whoever named it. What the system says of connections and files holds addresses
 * and paths of this host's network, so that it stays in the cause.
 * @param timeout the time limit that applied, in milliseconds.
 */
export function toReadableError(thrown: unknown, timeout: number): Error {
  if (thrown instanceof ServiceError) return thrown;
  const { name = '', code = '' } = thrown as { name?: string; code?: unknown };
  if (name === 'TimeoutError')
    return importRefused(`gave no whole answer within ${timeout / 1_000} s`, { cause: thrown });
  const known = typeof code === 'string' ? REASONS[code] : undefined;
  const isEncoding = typeof code === 'string' && /^(?:Z_|ERR__ERROR_)/.test(code);
  return importRefused(known ?? (isEncoding ? 'gave an answer that cannot be decoded' : 'cannot be read'), {
    cause: thrown,
  });
}
