/** The pages for people: files of this folder and of swagger-ui-dist, with a strict policy. */
import type { FastifyInstance, FastifyReply } from 'fastify';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { matchesEtag } from '../conditional.ts';
import { declare } from '../methods.ts';

const require = createRequire(import.meta.url);
const SWAGGER = dirname(require.resolve('swagger-ui-dist/package.json'));

/** Nothing from elsewhere is loaded, asked, framed or run. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
};

const OWN = [
  'overview.html',
  'overview.js',
  'about.js',
  'card.js',
  'objects.js',
  'files.js',
  'login.js',
  'read.js',
  'search.js',
  'element.js',
  'pages.css',
  'doc.html',
  'doc.js',
  'descriptor.js',
  'answers.js',
  'icon.svg',
] as const;
const EDITOR = ['swagger-ui.css', 'swagger-ui-bundle.js'] as const;

interface PageFile {
  readonly content: Buffer;
  readonly etag: string;
}

const files = new Map<string, PageFile>();

function fileOf(name: string): PageFile {
  const known = files.get(name);
  if (known !== undefined) return known;
  const folder = (EDITOR as readonly string[]).includes(name) ? SWAGGER : import.meta.dirname;
  const content = readFileSync(join(folder, name));
  const etag = `"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`;
  const file = { content, etag };
  files.set(name, file);
  return file;
}

export function sendPage(reply: FastifyReply, name: (typeof OWN)[number] | (typeof EDITOR)[number]): FastifyReply {
  const { content, etag } = fileOf(name);
  void reply.headers({
    'content-type': TYPES[name.split('.').at(-1) ?? ''] ?? 'application/octet-stream',
    'content-security-policy': POLICY,
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-cache',
    etag,
  });
  // The editor is a large script: what a browser has, it need not get again.
  const isKnown = matchesEtag(reply.request.headers['if-none-match'], etag);
  return isKnown ? reply.code(304).send() : reply.send(content);
}

/** The editor at `/doc?url=<path of a service descriptor>`, and the files that the pages are made of. */
export function pageRoutes(app: FastifyInstance): void {
  declare(app, '/doc', { GET: { access: 'open', handler: (_request, reply) => sendPage(reply, 'doc.html') } });
  for (const name of [...OWN, ...EDITOR]) {
    if (name.endsWith('.html')) continue;
    declare(app, `/doc/${name}`, { GET: { access: 'open', handler: (_request, reply) => sendPage(reply, name) } });
  }
}
