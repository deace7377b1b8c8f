/** The package in an uploaded form. */
import type { FastifyRequest } from 'fastify';
import { importRefused, packageTooLarge, ServiceError } from '../../lib/errors.ts';

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
