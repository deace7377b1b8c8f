/** `POST /kos`. */
import { Readable } from 'node:stream';
import { koKey } from '../../knowledge-object/id.ts';
import { outcomeOf, ServiceError, unsupportedMediaType } from '../../lib/errors.ts';
import { importZip } from '../../shelf/import/import-zip.ts';
import type { ImportTarget } from '../../shelf/import/import-zip.ts';
import { audit } from '../access/audit.ts';
import { atIdOf } from '../access/audited-names.ts';
import { mediaTypeOf } from '../body.ts';
import type { Operation } from '../methods.ts';
import { logReplaced, replaced } from './replaced.ts';
import { uploadedPackage } from './upload.ts';

export function importByZip(target: ImportTarget): Operation {
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
