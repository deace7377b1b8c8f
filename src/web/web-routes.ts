/** The pages for people: one front at `/`, one page with Swagger UI at `/doc?url=`, and the files that both are made of. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { escapeForMessage } from '../lib/text.ts';
import { parseKoId } from '../knowledge-object/id.ts';
import { notFound } from '../lib/errors.ts';
import { prefixOf } from '../http/address.ts';
import { textIn } from '../http/listings/list-query.ts';
import { declare } from '../http/methods.ts';
import { dataRoutes } from './data-routes.ts';
import type { DataOptions } from './data-routes.ts';
import { formRoutes } from './form-routes.ts';
import { POLICY, sendStaticFile, staticFile } from './static-file.ts';

const BROWSER = join(import.meta.dirname, 'browser');
const FRONT = join(BROWSER, 'front.html');

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
  ['lib/swagger-ui.css', join(folderOf('swagger-ui-dist'), 'swagger-ui.css')],
  ['lib/swagger-ui-bundle.js', join(folderOf('swagger-ui-dist'), 'swagger-ui-bundle.js')],
  ...['diff/line.js', 'diff/base.js', 'util/params.js'].map(
    (path) => [`lib/diff/${path}`, join(folderOf('diff'), 'libesm', path)] as const,
  ),
  ...JSON_SCHEMA.map(
    (name) =>
      [`lib/json-schema/${name}.js`, join(folderOf('@cfworker/json-schema'), 'dist/esm', `${name}.js`)] as const,
  ),
  ['lib/compare-results.js', join(import.meta.dirname, '../knowledge-object/compare-results.js')],
]);

const policies = new Map<string, string>();

/** The front, for `GET /` of a browser. */
export function sendFront(reply: FastifyReply): FastifyReply {
  const policy = policies.get(FRONT) ?? policyOf(staticFile(FRONT).content.toString());
  policies.set(FRONT, policy);
  return sendStaticFile(reply, FRONT, policy);
}

export function webRoutes(app: FastifyInstance, options: DataOptions): void {
  dataRoutes(app, options);
  formRoutes(app, options);

  /** Behind its `#` a browser keeps the place that it was asked for. */
  const toFront = (request: FastifyRequest, reply: FastifyReply, place = ''): FastifyReply =>
    reply.redirect(`${prefixOf(request)}/${place}`, 302);
  const openApi = (request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    if (textIn(request, 'url') !== undefined) return sendStaticFile(reply, join(BROWSER, 'openapi/doc.html'));
    const ko = parseKoId(textIn(request, 'ko') ?? '');
    return toFront(request, reply, ko === undefined ? '' : `#/kos/${ko.naan}/${ko.name}/${ko.version}`);
  };
  declare(app, '/doc', { GET: { access: 'public', handler: openApi } });
  declare(app, '/console', { GET: { access: 'public', handler: (request, reply) => toFront(request, reply) } });

  const own = readdirSync(BROWSER, { recursive: true, encoding: 'utf8' }).filter((path) =>
    /\.(?:js|css|svg)$/.test(path),
  );
  const files = new Map([...PACKAGES, ...own.map((path) => [path, join(BROWSER, path)] as const)]);
  const sendFile = (request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const { '*': path = '' } = request.params as { readonly '*'?: string };
    const file = files.get(path);
    if (file === undefined) throw notFound(`The pages have no file ${escapeForMessage(path)}`);
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
