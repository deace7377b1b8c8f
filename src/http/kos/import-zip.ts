/** `POST /kos`. */
import { Readable } from 'node:stream';
import { koKey } from '../../knowledge-object/id.ts';
import { outcomeOf, unsupportedMediaType } from '../../lib/errors.ts';
import { importZip } from '../../shelf/import/import-zip.ts';
import type { ImportTarget } from '../../shelf/import/import-zip.ts';
import { audit, authorOf } from '../access/audit.ts';
import { atIdOf } from '../access/audited-names.ts';
import { mediaTypeOf } from '../../lib/media-type.ts';
import type { Operation } from '../methods.ts';
import { logReplaced, replaced } from './replaced.ts';
import { aboutUpload, uploadedPackage } from './upload.ts';

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
