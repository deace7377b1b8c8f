/**
 * "Writes, activation and registration refuse a browser's cross-site request": a page on the web must not be able
 * to delete knowledge objects on the machine of the developer who looks at it.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { crossSiteRefused, type ServiceError } from '../../lib/errors.ts';
import { isLoopback } from '../../lib/host-port.ts';
import { pathOf } from '../../lib/url-path.ts';
import { ERROR_HEADER } from '../headers.ts';
import type { AccessOptions } from './access.ts';

/** Gives the refusal of a request that would change something; undefined when it may pass. */
export type CrossSiteRule = (request: FastifyRequest) => ServiceError | undefined;

type CrossSiteOptions = Pick<AccessOptions, 'profile' | 'loopbackOnly' | 'publicHosts' | 'allowedHosts'>;

export function createCrossSiteRule(corsOrigins: ReadonlySet<string>, options: CrossSiteOptions): CrossSiteRule {
  const named = new Set(options.publicHosts.map((host) => host.toLowerCase()));
  const nameRefusal = createNameRule(options);
  // Where a login is needed, a page of a foreign name has none.
  const asksForName = options.profile === 'dev' || options.loopbackOnly;

  return (request) => {
    const { origin, referer } = request.headers;
    if (origin !== undefined && corsOrigins.has(origin)) return undefined;

    // Browsers alone send this header and no page can set it. `none` is an address that a person typed; what is left
    // is `cross-site` and `same-site`, which is another port or a sibling host.
    const site = request.headers['sec-fetch-site'];
    if (site !== undefined && site !== 'same-origin' && site !== 'none') return refusePage(origin ?? referer);
    const own = (page: string): boolean => isAddressOf(page, [request.host, ...named]);
    if (origin !== undefined && !own(origin)) return refusePage(origin);
    // A link or an image has no Origin, and older browsers send no Sec-Fetch-Site.
    if (referer !== undefined && !own(referer)) return refusePage(referer);

    // Only for GET may a browser leave out every mark of itself, so there the name counts for everybody.
    const marked = referer !== undefined || MARKS.some((mark) => request.headers[mark] !== undefined);
    const suspect = marked || request.method === 'GET' || request.method === 'HEAD';
    return asksForName && suspect ? nameRefusal(request) : undefined;
  };
}

/** DNS rebinding: a foreign name that now leads here makes a page of that name look like our own. */
export function createNameRule({ profile, publicHosts, allowedHosts = [] }: CrossSiteOptions): CrossSiteRule {
  const known = new Set([...publicHosts, ...allowedHosts].map((host) => host.toLowerCase()));
  return (request) => {
    const foreign = namesOf(request, profile).find((name) => !isOwnName(name, known));
    return foreign === undefined ? undefined : refuseName(foreign);
  };
}

const MARKS = ['origin', 'sec-fetch-site', 'sec-fetch-mode', 'sec-fetch-dest', 'sec-fetch-user'];

/**
 * Whom the request is for: what the service was asked for and, where no login helps, what a trusted proxy was asked for.
 * Both count: a page may come past the proxy or through it.
 */
function namesOf(request: FastifyRequest, profile: AccessOptions['profile']): string[] {
  const { host, 'x-forwarded-host': forwarded } = request.headers;
  // Fastify lists the addresses of proxies only where they are trusted.
  const told = request.ips === undefined || profile !== 'dev' ? [] : String(forwarded ?? '').split(',');
  return [...(host === undefined ? [] : [host]), ...told.map((name) => name.trim()).filter((name) => name !== '')];
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
  // What DNS leads elsewhere is a name: the page of an address came from there.
  const isAddress = url !== null && (url.hostname.startsWith('[') || /^\d+\.\d+\.\d+\.\d+$/.test(url.hostname));
  return isAddress || (url !== null && (isLoopback(url.hostname) || named.has(url.hostname) || named.has(url.host)));
}

const parseHost = (host: string, protocol: string): URL | null => URL.parse(`${protocol}//${host}`);

function refusePage(page: string | undefined): ServiceError {
  const origin = URL.parse(page ?? '')?.origin;
  const who = origin === undefined || origin === 'null' ? 'of another site' : `of ${origin.slice(0, 200)}`;
  return crossSiteRefused(`A page ${who} may not change anything here; --cors (KGRID_CORS) names the origins that may`);
}

const refuseName = (host: string): ServiceError =>
  crossSiteRefused(
    `${JSON.stringify(host.slice(0, 200))} is not a name of this service; --allow-host (KGRID_ALLOW_HOST) adds it, and --public-url (KGRID_PUBLIC_URL) names the address under which clients reach it`,
  );

// Requests that act by GET are not made by following a link, nor by a picture: over plain http a browser does not say
// which site they are on, and a page on another port of this host has the logins of this one. A browser gets a page from
// which a person can send the same as a POST, of which it names the origin.

const POLICY = "default-src 'none'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";
const LONGEST_SHOWN = 300;

type Asked = Pick<FastifyRequest, 'method' | 'headers'>;

export const isFollowedLink = (request: Asked): boolean =>
  request.method === 'GET' && !isOfScript(request) && (isNavigation(request) || isOfBrowser(request));

/** A script of the service's own pages; what a descriptor says there may hold links and pictures. */
const isOfScript = ({ headers }: Asked): boolean =>
  headers['sec-fetch-site'] === 'same-origin' && (headers['sec-fetch-dest'] ?? 'empty') === 'empty';

/** Programs do not send `Upgrade-Insecure-Requests`; some have an `Accept` that begins with `text/html`. */
const isNavigation = ({ headers }: Asked): boolean =>
  headers['upgrade-insecure-requests'] !== undefined && /\btext\/html\b/i.test(headers.accept ?? '');

/** All that a page loads has both headers, which it cannot change; programs have one of them at most. */
const isOfBrowser = ({ headers }: Asked): boolean =>
  headers['accept-language'] !== undefined && /^Mozilla\//.test(headers['user-agent'] ?? '');

/** The form has no address of its own: it goes to that of the page, whatever a proxy made of it. */
export function askToPost(request: FastifyRequest, reply: FastifyReply): void {
  const path = escapeHtml(pathOf(request.url).slice(0, LONGEST_SHOWN));
  const page = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Confirm · KGrid Activator</title></head>
<body>
<h1>This changes what is active</h1>
<p><code>${path}</code> was opened as a link, and was not carried out: a page of another site may have led here.</p>
<form method="post"><button type="submit">Carry it out</button></form>
</body>
</html>
`;
  // `no-referrer` would take the origin out of the POST.
  const headers = { 'content-security-policy': POLICY, 'referrer-policy': 'same-origin', 'cache-control': 'no-store' };
  void reply
    .code(403)
    .headers({ ...headers, [ERROR_HEADER]: 'cross-site-refused' })
    .type('text/html; charset=utf-8')
    .send(page);
}

const MARKUP: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (sign) => MARKUP[sign] ?? sign);
