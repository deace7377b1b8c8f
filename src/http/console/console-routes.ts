/** The console at `/console`: files of the folder `web`, and of the few packages that they import by name. */
import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { notFound } from '../../lib/errors.ts';
import { escapeForMessage } from '../../lib/text.ts';
import { declare } from '../methods.ts';
import { POLICY, sendStaticFile, staticFile } from '../pages/static-file.ts';

const WEB = join(import.meta.dirname, 'web');
const PAGE = join(WEB, 'console.html');

const { resolve } = createRequire(import.meta.url);
const folderOf = (name: string): string => dirname(resolve(`${name}/package.json`));

/** What a worker checks inputs with: import maps are not for workers. */
const JSON_SCHEMA = ['validate', 'deep-compare-strict', 'dereference', 'format', 'pointer', 'ucs2-length'] as const;

/** By their path below `/console/`; the import map of the page names those that modules import. */
const PACKAGES: ReadonlyMap<string, string> = new Map([
  ['lib/preact.mjs', join(folderOf('preact'), 'dist/preact.mjs')],
  ['lib/hooks.mjs', join(folderOf('preact'), 'hooks/dist/hooks.mjs')],
  ['lib/htm.js', join(dirname(resolve('htm')), 'htm.module.js')],
  ['lib/uplot.js', join(folderOf('uplot'), 'dist/uPlot.esm.js')],
  ['lib/uplot.css', join(folderOf('uplot'), 'dist/uPlot.min.css')],
  ...['diff/line.js', 'diff/base.js', 'util/params.js'].map(
    (path) => [`lib/diff/${path}`, join(folderOf('diff'), 'libesm', path)] as const,
  ),
  ...JSON_SCHEMA.map(
    (name) =>
      [`lib/json-schema/${name}.js`, join(folderOf('@cfworker/json-schema'), 'dist/esm', `${name}.js`)] as const,
  ),
  ['lib/compare-results.js', join(import.meta.dirname, '../../knowledge-object/compare-results.js')],
]);

export function consoleRoutes(app: FastifyInstance): void {
  const policy = policyOf(staticFile(PAGE).content.toString());
  declare(app, '/console', {
    GET: { access: 'public', handler: (_request, reply) => sendStaticFile(reply, PAGE, policy) },
  });
  const own = readdirSync(WEB, { recursive: true, encoding: 'utf8' }).filter((path) => /\.(?:js|css)$/.test(path));
  const files = new Map([...PACKAGES, ...own.map((path) => [path, join(WEB, path)] as const)]);
  const sendFile = (request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const { '*': path = '' } = request.params as { readonly '*'?: string };
    const file = files.get(path);
    if (file === undefined) throw notFound(`The console has no file ${escapeForMessage(path)}`);
    return sendStaticFile(reply, file);
  };
  declare(app, '/console/*', { GET: { access: 'public', handler: sendFile } });
}

/** That of all pages, and the import map, which cannot be a file, by its hash. */
function policyOf(page: string): string {
  const begin = page.indexOf('>', page.indexOf('<script type="importmap"')) + 1;
  const map = page.slice(begin, page.indexOf('</script>', begin));
  const hash = createHash('sha256').update(map).digest('base64');
  return `${POLICY.replace("script-src 'self'", `script-src 'self' 'sha256-${hash}'`)}; worker-src 'self'`;
}
