/** `POST /kos` and the two manifest calls. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Readable } from 'node:stream';
import type { Activator } from '../../activation/activator.ts';
import { koKey } from '../../knowledge-object/id.ts';
import { bodyNotReadable, messageOf, ServiceError, unsupportedMediaType } from '../../lib/errors.ts';
import { inTurns } from '../../lib/in-turns.ts';
import { importZip } from '../../shelf/import/import-zip.ts';
import type { ImportTarget } from '../../shelf/import/import-zip.ts';
import type { ManifestImporter, ManifestOutcome } from '../../shelf/manifest-importer.ts';
import { parseManifestText } from '../../shelf/manifest/parse-manifest.ts';
import { audit } from '../access/audit.ts';
import { mediaTypeOf, requireJson, textBody } from '../body.ts';
import type { Operation } from '../methods.ts';
import { withoutSilenceLimit } from '../long-work.ts';
import { sendOutcome } from './manifest-answer.ts';
import type { ManifestProblem } from './manifest-answer.ts';
import { uploadedPackage } from './upload.ts';

export interface ImportOptions extends ImportTarget {
  readonly manifests: ManifestImporter;
  readonly activator: Activator;
}

export function importByZip(target: ImportOptions): Operation {
  return {
    access: 'shelf-write',
    options: {
      onRequest: (request, _reply, done) => {
        const type = mediaTypeOf(request.headers['content-type']);
        if (type === 'multipart/form-data') done();
        else
          done(
            unsupportedMediaType(
              `Send the package as multipart/form-data in the field ko (with curl: -F ko=@package.zip)${type === '' ? '' : `, not as ${type}`}`,
            ),
          );
      },
    },
    handler: async (request, reply) => {
      try {
        const upload = Readable.from(uploadedPackage(request, target.limits.zipped));
        const { entry, digests } = await importZip(upload, target);
        const key = koKey(entry.id);
        audit(request, { action: 'import', subject: key, digest: entry.digest, ...replaced(digests), outcome: 'done' });
        if (digests !== undefined) {
          logReplaced(request, key, digests);
          void reply.header('KGrid-Replaced', digests);
        }
        return reply.header('location', `/kos/${key}`).send({ Added: `${key}/` });
      } catch (thrown) {
        audit(request, { action: 'import', subject: 'ko', outcome: 'failed' });
        // What is left of the upload is not read.
        void reply.header('connection', 'close');
        throw aboutUpload(thrown);
      }
    },
  };
}

/** "Its Error text names `MultipartFile resource [ko]`, says what is wrong and, where it is a file, which file." */
function aboutUpload(thrown: unknown): unknown {
  if (!(thrown instanceof ServiceError) || thrown.status >= 500) return thrown;
  return new ServiceError(
    thrown.code,
    thrown.status,
    thrown.title,
    `MultipartFile resource [ko] cannot be imported: ${thrown.message}`,
    { cause: thrown },
  );
}

export function importByManifest({ manifests }: ImportOptions): Operation {
  return importByJson('manifest', (body) => manifests.importPosted(body));
}

export function importByManifestList({ manifests }: ImportOptions): Operation {
  return importByJson('manifest-list', (body) => manifests.importPostedList(body));
}

function importByJson(action: string, run: (body: unknown) => Promise<readonly ManifestOutcome[]>): Operation {
  return {
    access: 'shelf-write',
    handler: async (request: FastifyRequest, reply: FastifyReply) => {
      requireJson(request);
      const manifest = jsonOf(request);
      const outcomes = await withoutSilenceLimit(request, () => run(manifest));
      const added = outcomes.flatMap(({ id }) => (id === undefined ? [] : [`${koKey(id)}/`]));
      const problems = await logged(request, outcomes);
      const changed = outcomes.flatMap(({ id, digests }) => (id && digests ? [[koKey(id), digests] as const] : []));
      for (const [key, digests] of changed) logReplaced(request, key, digests);
      audit(request, {
        action: `import ${action}`,
        subject: added.join(' ') || 'nothing',
        ...replaced(changed.length === 0 ? undefined : changed.map((each) => each.join(' ')).join('; ')),
        outcome: added.length > 0 ? 'done' : 'failed',
      });
      // "None loaded (also an empty list, or an object without a list): 400 with `[]`."
      void reply.code(added.length > 0 ? 200 : 400).header('KGrid-Manifest-Errors', problems.length);
      return sendOutcome(request, reply, added, problems);
    },
  };
}

/** Writes down why entries failed, so that the caller's request id leads there. */
async function logged(request: FastifyRequest, outcomes: readonly ManifestOutcome[]): Promise<ManifestProblem[]> {
  const problems = outcomes.flatMap(({ location, error }) =>
    error === undefined ? [] : [{ location, detail: error.message }],
  );
  for await (const some of inTurns(problems)) {
    for (const { location, detail } of some)
      request.log.warn({ requestId: request.id, location, cause: detail }, 'manifest entry was not imported');
  }
  return problems;
}

const replaced = (digests: string | undefined): { Replaced?: string } =>
  digests === undefined ? {} : { Replaced: digests };

/** The content of a version that others may rely on is another now. */
function logReplaced(request: FastifyRequest, ko: string, digests: string): void {
  request.log.warn({ requestId: request.id, ko, digests }, 'Replaced');
}

function jsonOf(request: FastifyRequest): unknown {
  try {
    return parseManifestText(textBody(request));
  } catch (thrown) {
    if (thrown instanceof ServiceError && thrown.code === 'import-refused')
      throw bodyNotReadable(`The manifest ${thrown.message}`);
    throw bodyNotReadable(`The body is not JSON: ${messageOf(thrown)}`, { cause: thrown });
  }
}
