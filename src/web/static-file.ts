/** Files that are sent as they are to browsers, with a strict policy. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { FastifyReply } from 'fastify';
import { matchesEtag } from '../http/headers.ts';

/** Nothing from elsewhere is loaded, asked, framed or run. */
export const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  mjs: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
};

interface StaticFile {
  readonly content: Buffer;
  readonly etag: string;
}

const files = new Map<string, StaticFile>();

export function staticFile(path: string): StaticFile {
  const known = files.get(path);
  if (known !== undefined) return known;
  const content = readFileSync(path);
  const etag = `"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`;
  const file = { content, etag };
  files.set(path, file);
  return file;
}

/** `path`: of a file of the program, never one that a request names. */
export function sendStaticFile(reply: FastifyReply, path: string, policy = POLICY): FastifyReply {
  const { content, etag } = staticFile(path);
  void reply.headers({
    'content-type': TYPES[path.split('.').at(-1) ?? ''] ?? 'application/octet-stream',
    'content-security-policy': policy,
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-cache',
    etag,
  });
  // Some are large scripts: what a browser has, it need not get again.
  const isKnown = matchesEtag(reply.request.headers['if-none-match'], etag);
  return isKnown ? reply.code(304).send() : reply.send(content);
}
