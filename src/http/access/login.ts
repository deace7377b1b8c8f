/** Reads who sends a request from its `Authorization` header, by the ways of login that are configured. */
import type { FastifyRequest } from 'fastify';
import { loginUnavailable, notAuthenticated, notAuthorized, type ServiceError } from '../../lib/errors.ts';
import type { AccessOptions } from './access.ts';
import { createBasicCheck } from './basic.ts';
import { createBearerCheck } from './bearer.ts';
import { IssuerUnavailable } from './issuer.ts';
import type { Principal } from './principal.ts';

const RETRY_AFTER_SECONDS = 10;

export interface Login {
  /**
   * The principal, or undefined for missing and for wrong credentials.
   * @throws loginUnavailable when a token cannot be checked, because its issuer does not answer.
   */
  identify(request: FastifyRequest): Promise<Principal | undefined>;
  /** What a caller without valid credentials gets: the same whatever was wrong with them. */
  refusal(request: FastifyRequest): ServiceError;
  /** What a principal gets that may not change anything; undefined for one that may. */
  scopeRefusal(principal: Principal): ServiceError | undefined;
}

/** @throws startRefused for settings with which no login can work. */
export function createLogin(options: AccessOptions): Login {
  const { basic, oauth, log } = options;
  const checkBasic = basic && createBasicCheck(basic);
  const checkBearer = oauth && createBearerCheck(oauth);
  const neededScopes = oauth?.scope?.split(' ').filter((scope) => scope !== '') ?? [];
  const message = messageFor(options);

  return {
    async identify(request) {
      const [scheme, credentials] = partsOf(request);
      if (scheme === 'basic' && checkBasic) return checkBasic(credentials);
      if (scheme !== 'bearer' || !checkBearer) return undefined;
      try {
        const checked = await checkBearer(credentials);
        if ('principal' in checked) return checked.principal;
        log.info({ requestId: request.id, reason: checked.refused }, 'bearer token refused');
        return undefined;
      } catch (cause) {
        if (!(cause instanceof IssuerUnavailable)) throw cause;
        log.warn(
          { requestId: request.id, reason: cause.message },
          'bearer token not checked, its issuer cannot be reached',
        );
        throw loginUnavailable('The token cannot be checked, since its issuer does not answer; try again later', {
          cause,
          headers: { 'retry-after': String(RETRY_AFTER_SECONDS) },
        });
      }
    },
    refusal: (request) =>
      notAuthenticated(message, { headers: { 'www-authenticate': challenge(options, partsOf(request)[0]) } }),
    scopeRefusal({ kind, scopes }) {
      if (kind !== 'oauth' || neededScopes.every((scope) => scopes.includes(scope))) return undefined;
      const scope = neededScopes.join(' ');
      return notAuthorized(`The token lacks the scope ${scope}, which this operation needs`, {
        headers: { 'www-authenticate': `Bearer realm="kgrid", error="insufficient_scope", scope="${scope}"` },
      });
    },
  };
}

/** The scheme in lower case and what follows it; both empty when there is no header. */
function partsOf(request: FastifyRequest): [scheme: string, credentials: string] {
  const { authorization = '' } = request.headers;
  const end = authorization.indexOf(' ');
  return end < 0 ? ['', ''] : [authorization.slice(0, end).toLowerCase(), authorization.slice(end).trim()];
}

/**
 * RFC 6750, 3.1: without a token the challenge names no error. With no login configured it names Bearer, since
 * Basic would make a browser ask for a password that does not exist.
 */
function challenge({ basic, oauth }: AccessOptions, scheme: string): string {
  const bearer = oauth && scheme === 'bearer' ? 'Bearer realm="kgrid", error="invalid_token"' : 'Bearer realm="kgrid"';
  return [...(basic ? ['Basic realm="kgrid", charset="UTF-8"'] : []), ...(oauth || !basic ? [bearer] : [])].join(', ');
}

function messageFor({ basic, oauth }: AccessOptions): string {
  const ways = [...(basic ? ['user and password (HTTP Basic)'] : []), ...(oauth ? ['an OAuth 2.0 bearer token'] : [])];
  return ways.length > 0
    ? `This operation needs a login that is valid here: ${ways.join(' or ')}`
    : 'This operation needs a login, and none is configured: set --user and --password (KGRID_USER, KGRID_PASSWORD), ' +
        'or --oauth-issuer and --oauth-audience (KGRID_OAUTH_ISSUER, KGRID_OAUTH_AUDIENCE)';
}
