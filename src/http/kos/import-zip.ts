/** `POST /kos`. */
import { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { koKey } from '../../knowledge-object/id.ts';
import { importRefused, outcomeOf, packageTooLarge, ServiceError, unsupportedMediaType } from '../../lib/errors.ts';
import { mediaTypeOf } from '../../lib/media-type.ts';
import { type ImportTarget, importZip } from '../../shelf/import/import-zip.ts';
import { atIdOf, audit, authorOf } from '../access/audit.ts';
import type { Operation } from '../methods.ts';

/** Refuses what is no form before it is read. */
export const mustBeForm: NonNullable<Operation['options']> = {
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
};

export function importByZip(target: ImportTarget): Operation {
  return {
    access: 'shelf-write',
    options: mustBeForm,
    handler: async (request, reply) => {
      try {
        const upload = Readable.from(uploadedPackage(request, target.limits.zipped));
        const { entry, digests } = await importZip(upload, target, authorOf(request));
        target.observe?.('done');
        const key = koKey(entry.id);
        audit(request, {
          action: 'import',
          subject: key,
          ...atIdOf(entry),
          digest: entry.digest,
          ...replaced(digests),
          outcome: 'done',
        });
        if (digests !== undefined) {
          logReplaced(request, key, digests);
          void reply.header('KGrid-Replaced', digests);
        }
        return reply.header('location', `/kos/${key}`).send({ Added: `${key}/` });
      } catch (thrown) {
        target.observe?.(outcomeOf(thrown));
        audit(request, { action: 'import', subject: 'ko', outcome: 'failed' });
        // What is left of the upload is not read.
        void reply.header('connection', 'close');
        throw aboutUpload(thrown);
      }
    },
  };
}

// The package in an uploaded form.

const FIELD = 'ko';
const CUT_OFF = 'the multipart form is broken or was cut off';

/**
 * The bytes of the form's file. It ends only when the whole form has been read and found right, so that whoever
 * stores what is before the end stores nothing of a broken upload.
 * @throws importRefused; packageTooLarge.
 */
export async function* uploadedPackage(request: FastifyRequest, limit: number): AsyncGenerator<Buffer> {
  // The form's own reader would wait for ever for a client who has gone already.
  if (request.raw.destroyed) throw importRefused(CUT_OFF);
  let found = false;
  try {
    for await (const part of request.parts({
      limits: { fileSize: limit, files: 2, fields: 20, fieldSize: 64 * 1024 },
    })) {
      if (part.type === 'field') {
        if (part.fieldname === FIELD)
          throw importRefused(
            `the form field ${FIELD} must hold a file, not text (with curl: -F ${FIELD}=@package.zip)`,
          );
        continue;
      }
      if (found || part.fieldname !== FIELD) {
        part.file.resume();
        throw importRefused(
          found
            ? 'the form has more than one file; upload one package at a time'
            : `the form's file is in the field ${part.fieldname.slice(0, 80)}; it must be in the field ${FIELD}`,
        );
      }
      found = true;
      yield* part.file as AsyncIterable<Buffer>;
      if (part.file.truncated)
        throw packageTooLarge(`the package is larger than the limit of ${limit} bytes (--max-package)`);
    }
  } catch (thrown) {
    if (thrown instanceof ServiceError) throw thrown;
    if ((thrown as { code?: unknown }).code === 'FST_REQ_FILE_TOO_LARGE') {
      throw packageTooLarge(`the package is larger than the limit of ${limit} bytes (--max-package)`, {
        cause: thrown,
      });
    }
    throw importRefused(CUT_OFF, { cause: thrown });
  }
  if (!found) throw importRefused(`the form has no file field ${FIELD} (with curl: -F ${FIELD}=@package.zip)`);
}

/** "Its Error text names `MultipartFile resource [ko]`, says what is wrong and, where it is a file, which file." */
export function aboutUpload(thrown: unknown): unknown {
  if (!(thrown instanceof ServiceError) || thrown.status >= 500) return thrown;
  return new ServiceError(
    thrown.code,
    thrown.status,
    thrown.title,
    `MultipartFile resource [ko] cannot be imported: ${thrown.message}`,
    { cause: thrown },
  );
}

// How the audit and the log tell that the content of a version is another now.

/** For the audit. */
export const replaced = (digests: string | undefined): { Replaced?: string } =>
  digests === undefined ? {} : { Replaced: digests };

/** Others may rely on what the version held. */
export function logReplaced(request: FastifyRequest, ko: string, digests: string): void {
  request.log.warn({ requestId: request.id, ko, digests }, 'Replaced');
}
