/**
 * "Writes, activation and registration refuse a browser's cross-site request": a page on the web must not be able
 * to delete knowledge objects on the machine of the developer who looks at it.
 */
import type { FastifyRequest } from 'fastify';
import { crossSiteRefused, type ServiceError } from '../../lib/errors.ts';
import type { AccessOptions } from './access.ts';
import { isLoopback } from '../../lib/loopback.ts';

/** Gives the refusal of a request that would change something; undefined when it may pass. */
export type CrossSiteRule = (request: FastifyRequest) => ServiceError | undefined;

export function createCrossSiteRule(
  corsOrigins: ReadonlySet<string>,
  { loopbackOnly, publicHosts }: Pick<AccessOptions, 'loopbackOnly' | 'publicHosts'>,
): CrossSiteRule {
  const named = new Set(publicHosts.map((host) => host.toLowerCase()));

  return (request) => {
    const { origin, referer, host } = request.headers;
    if (origin !== undefined && corsOrigins.has(origin)) return undefined;

    // Browsers alone send this header and no page can set it. `none` is an address that a person typed; what is left
    // is `cross-site` and `same-site`, which is another port or a sibling host.
    const site = request.headers['sec-fetch-site'];
    if (site !== undefined && site !== 'same-origin' && site !== 'none') return refusePage(origin ?? referer);
    const own = (page: string): boolean => isAddressOf(page, [request.host, ...named]);
    if (origin !== undefined && !own(origin)) return refusePage(origin);
    // A link or an image has no Origin, and older browsers send no Sec-Fetch-Site.
    if (referer !== undefined && !own(referer)) return refusePage(referer);

    // DNS rebinding: a foreign name that now leads here makes a page of that name look like our own. Only for GET
    // may a browser leave out every mark of itself, so there the name counts for everybody.
    const marked = origin !== undefined || site !== undefined || referer !== undefined;
    const suspect = marked || request.method === 'GET' || request.method === 'HEAD';
    if (loopbackOnly && suspect && host !== undefined && !isOwnName(host, named)) return refuseName(host);
    return undefined;
  };
}

/** Compares host and port, not the scheme: behind a proxy that ends TLS a page is https where this service is http. */
function isAddressOf(page: string, hosts: readonly string[]): boolean {
  if (!URL.canParse(page)) return false;
  const { protocol, host } = new URL(page);
  if (protocol !== 'https:' && protocol !== 'http:') return false;
  // Read as part of the page's address, a host with the scheme's own port equals one without.
  return hosts.some((own) => parseHost(own, protocol)?.host === host);
}

function isOwnName(host: string, named: ReadonlySet<string>): boolean {
  const url = parseHost(host, 'http:');
  return url !== null && (isLoopback(url.hostname) || named.has(url.hostname) || named.has(url.host));
}

const parseHost = (host: string, protocol: string): URL | null => URL.parse(`${protocol}//${host}`);

function refusePage(page: string | undefined): ServiceError {
  const origin = URL.parse(page ?? '')?.origin;
  const who = origin === undefined || origin === 'null' ? 'of another site' : `of ${origin.slice(0, 200)}`;
  return crossSiteRefused(`A page ${who} may not change anything here; --cors (KGRID_CORS) names the origins that may`);
}

const refuseName = (host: string): ServiceError =>
  crossSiteRefused(
    `${JSON.stringify(host.slice(0, 200))} is not a name of this service; --public-url (KGRID_PUBLIC_URL) names the address under which it is reached`,
  );
