/** `GET /kos/{naan}/{name}/{version}/{file}`. */
import { koKey } from '../../knowledge-object/id.ts';
import { binaryNotFound } from '../../lib/errors.ts';
import type { Handler } from '../methods.ts';
import { sendFile } from '../send-file.ts';
import type { KoContext } from './ko-context.ts';
import { idOf, isId, paramsOf } from './ko-params.ts';

export const readFile =
  ({ shelf }: KoContext): Handler =>
  async (request, reply) => {
    const { '*': path = '' } = paramsOf(request);
    const id = idOf(request);
    const pkg = isId(id) ? await shelf.open(id) : undefined;
    if (pkg?.files.has(path) !== true) {
      pkg?.release();
      throw binaryNotFound(koKey(id), path);
    }
    reply.raw.once('close', () => pkg.release());
    return sendFile(request, reply, pkg, path);
  };
