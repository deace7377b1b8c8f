/** The pages for people: files of this folder and of swagger-ui-dist. */
import type { FastifyInstance, FastifyReply } from 'fastify';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { declare } from '../methods.ts';
import { sendStaticFile } from './static-file.ts';

const require = createRequire(import.meta.url);
const SWAGGER = dirname(require.resolve('swagger-ui-dist/package.json'));

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

export function sendPage(reply: FastifyReply, name: (typeof OWN)[number] | (typeof EDITOR)[number]): FastifyReply {
  const folder = (EDITOR as readonly string[]).includes(name) ? SWAGGER : import.meta.dirname;
  return sendStaticFile(reply, join(folder, name));
}

/** The editor at `/doc?url=<path of a service descriptor>`, and the files that the pages are made of. */
export function pageRoutes(app: FastifyInstance): void {
  declare(app, '/doc', { GET: { access: 'public', handler: (_request, reply) => sendPage(reply, 'doc.html') } });
  for (const name of [...OWN, ...EDITOR]) {
    if (name.endsWith('.html')) continue;
    declare(app, `/doc/${name}`, { GET: { access: 'public', handler: (_request, reply) => sendPage(reply, name) } });
  }
}
