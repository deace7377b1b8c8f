/** The Shelf API. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { notFound } from '../../lib/errors.ts';
import { pathOf } from '../../lib/url-path.ts';
import type { EndpointTexts } from '../listings/endpoint-texts.ts';
import { declare, type Handler, type Operation } from '../methods.ts';
import { asFileNamed, deleteKo, replaceMetadata, restoreKo } from './change-ko.ts';
import { KO_ROUTE } from './fast-reads.ts';
import { importByManifest, importByManifestList } from './import-manifest.ts';
import { importByZip } from './import-zip.ts';
import { type KoContext, type KoParts, paramsOf } from './ko-context.ts';
import { KoLists } from './ko-lists.ts';
import { orAtId, orRefusedAtId, refusedAtId } from './read-at-id.ts';
import { orArk, readAnyVersion, readFile, readKo } from './read-ko.ts';

export function kosRoutes(app: FastifyInstance, imports: KoParts, texts: EndpointTexts): void {
  const { shelf, activator } = imports;
  const lists = new KoLists({ shelf, activator, texts });
  const context: KoContext = { ...imports, lists };

  declare(app, '/kos', { GET: read((request, reply) => lists.all(request, reply)), POST: importByZip(imports) }, SHELF);
  declare(app, '/kos/manifest', { POST: importByManifest(imports) }, SHELF);
  declare(app, '/kos/manifest-list', { POST: importByManifestList(imports) }, SHELF);
  const refusal = (request: FastifyRequest): Promise<Error | undefined> => refusedAtId(shelf, request);
  const byAtId = (url: string, handler: Handler): void =>
    declare(app, url, { GET: read(orAtId(context, handler)) }, { ...SHELF, refusal });
  byAtId('/kos/:naan', (request, reply) => lists.ofNaan(request, reply, paramsOf(request).naan));
  byAtId('/kos/:naan/:name', orArk(context, readAnyVersion(context)));
  const replace = replaceMetadata(context);
  const remove = deleteKo(context);
  declare(
    app,
    KO_ROUTE,
    {
      GET: read(orAtId(context, orArk(context, readKo(context)))),
      PUT: { ...replace, handler: orRefusedAtId(context, replace.handler) },
      DELETE: { ...remove, handler: orRefusedAtId(context, remove.handler) },
    },
    SHELF,
  );
  byAtId('/kos/:naan/:name/:version/*', orArk(context, readFile(context)));
  byAtId('/kos/*', (request) => {
    throw notFound(`There is nothing at ${pathOf(request.url)}`);
  });
  declare(
    app,
    '/kos/:naan/:name/:version/restore',
    {
      GET: read(orAtId(context, asFileNamed('restore', orArk(context, readFile(context))))),
      POST: restoreKo(context),
    },
    { ...SHELF, refusal },
  );
}

const SHELF = { errors: 'shelf' } as const;

const read = (handler: Handler): Operation => ({ access: 'read', handler });
