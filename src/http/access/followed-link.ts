/**
 * Requests that act by GET are not made by following a link: over plain http a browser does not say which site the link
 * is on. It gets a page from which a person can send the same as a POST, of which a browser names the origin.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ERROR_HEADER, pathOf } from '../errors.ts';

const POLICY = "default-src 'none'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";
const LONGEST_SHOWN = 300;

/** Programs do not send `Upgrade-Insecure-Requests`; some have an `Accept` that begins with `text/html`. */
export const isFollowedLink = ({ method, headers }: Pick<FastifyRequest, 'method' | 'headers'>): boolean =>
  method === 'GET' &&
  headers['upgrade-insecure-requests'] !== undefined &&
  /\btext\/html\b/i.test(headers.accept ?? '') &&
  headers['sec-fetch-site'] !== 'same-origin';

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
