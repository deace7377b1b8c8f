/**
 * Requests that act by GET are not made by following a link, nor by a picture: over plain http a browser does not say
 * which site they are on, and a page on another port of this host has the logins of this one. A browser gets a page from
 * which a person can send the same as a POST, of which it names the origin.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ERROR_HEADER } from '../headers.ts';
import { pathOf } from '../../lib/url-path.ts';

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
