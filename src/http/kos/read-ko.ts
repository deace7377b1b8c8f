/** `GET /kos/{naan}/{name}/{version}`, `/kos/{naan}/{name}?v={version}`, and, without one, the newest version. */
import { koNotFound, ServiceError } from '../../lib/errors.ts';
import { askedVersion } from '../asked-version.ts';
import type { Handler } from '../methods.ts';
import type { KoContext } from './ko-context.ts';
import { idOf, paramsOf, requireKo } from './ko-params.ts';
import { sendKo, wantsZip } from './send-ko.ts';

export const readKo =
  ({ shelf }: KoContext): Handler =>
  async (request, reply) =>
    sendKo(request, reply, shelf, await requireKo(shelf, idOf(request)));

export const readAnyVersion =
  ({ shelf }: KoContext): Handler =>
  async (request, reply) => {
    const { naan, name } = paramsOf(request);
    const v = askedVersion(request);
    const entry =
      v === undefined ? (await shelf.versions(naan, name)).at(-1) : await shelf.find({ naan, name, version: v });
    if (entry !== undefined) return sendKo(request, reply, shelf, entry);
    const missing = koNotFound([naan, name, v ?? ''].filter((part) => part !== '').join('/'));
    // "Currently 500 server error if the KO is not found."
    throw v !== undefined && wantsZip(request)
      ? new ServiceError(missing.code, 500, 'Internal Server Error', missing.message)
      : missing;
  };
