/** `GET /kos/{naan}/{name}/{version}/{file}`. */
import { koKey } from '../../knowledge-object/id.ts';
import { binaryNotFound } from '../../lib/errors.ts';
import type { Handler } from '../methods.ts';
import { sendFile } from '../send-file.ts';
import type { KoContext } from './ko-context.ts';
import { withMadeDescriptor } from './made-descriptor.ts';
import { idOf, isId, paramsOf } from './ko-params.ts';

export const readFile =
  ({ shelf, activator }: KoContext): Handler =>
  async (request, reply) => {
    const { '*': path = '' } = paramsOf(request);
    const id = idOf(request);
    const opened = isId(id) ? await shelf.open(id) : undefined;
    const pkg = opened?.files.has(path) === false ? withMadeDescriptor(activator, opened, path) : opened;
    if (pkg === undefined) {
      opened?.release();
      throw binaryNotFound(koKey(id), path);
    }
    reply.raw.once('close', () => pkg.release());
    return sendFile(request, reply, pkg, path);
  };
