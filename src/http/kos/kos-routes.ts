/** The Shelf API. */
import type { FastifyInstance } from 'fastify';
import type { EndpointTexts } from '../listings/endpoint-texts.ts';
import { declare } from '../methods.ts';
import type { Handler, Operation } from '../methods.ts';
import { deleteKo } from './delete-ko.ts';
import { importByManifest, importByManifestList, importByZip } from './import-routes.ts';
import type { ImportOptions } from './import-routes.ts';
import type { KoContext } from './ko-context.ts';
import { KoLists } from './ko-lists.ts';
import { paramsOf } from './ko-params.ts';
import { orArk } from './read-ark.ts';
import { readFile } from './read-file.ts';
import { readAnyVersion, readKo } from './read-ko.ts';
import { asFileNamed, restoreKo } from './restore-ko.ts';
import { replaceMetadata } from './replace-metadata.ts';

export function kosRoutes(app: FastifyInstance, imports: ImportOptions, texts: EndpointTexts): void {
  const { shelf, activator } = imports;
  const lists = new KoLists({ shelf, activator, texts });
  const context: KoContext = { ...imports, lists };

  declare(app, '/kos', { GET: open((request, reply) => lists.all(request, reply)), POST: importByZip(imports) });
  declare(app, '/kos/manifest', { POST: importByManifest(imports) });
  declare(app, '/kos/manifest-list', { POST: importByManifestList(imports) });
  declare(app, '/kos/:naan', {
    GET: open((request, reply) => lists.ofNaan(request, reply, paramsOf(request).naan)),
  });
  declare(app, '/kos/:naan/:name', { GET: open(orArk(context, readAnyVersion(context))) });
  declare(app, '/kos/:naan/:name/:version', {
    GET: open(orArk(context, readKo(context))),
    PUT: replaceMetadata(context),
    DELETE: deleteKo(context),
  });
  declare(app, '/kos/:naan/:name/:version/restore', {
    GET: open(asFileNamed('restore', orArk(context, readFile(context)))),
    POST: restoreKo(context),
  });
  declare(app, '/kos/:naan/:name/:version/*', { GET: open(orArk(context, readFile(context))) });
}

const open = (handler: Handler): Operation => ({ access: 'open', handler });
