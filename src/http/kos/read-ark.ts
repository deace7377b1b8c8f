/** "By ARK identifier": one KO by redirect, or an array with all versions. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { koNotFound } from '../../lib/errors.ts';
import { prefixOf } from '../address.ts';
import type { Handler } from '../methods.ts';
import type { KoContext } from './ko-context.ts';
import { paramsOf, requireKo } from './ko-params.ts';

const PREFIX = 'ark:';

/** The handler, for paths that begin with no ARK. */
export const orArk =
  (context: KoContext, handler: Handler): Handler =>
  (request, reply) =>
    paramsOf(request).naan.startsWith(PREFIX) ? readArk(context, request, reply) : handler(request, reply);

async function readArk({ shelf, lists }: KoContext, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const { naan: first, name: second, version: third = '', '*': rest = '' } = paramsOf(request);
  const parts = [first.slice(PREFIX.length), second, third, rest].filter((part) => part !== '');
  const [naan = '', name = '', version] = parts;
  if (parts.length === 3 && version !== undefined) {
    await requireKo(shelf, { naan, name, version });
    return reply.redirect(`${prefixOf(request)}/kos/${naan}/${name}/${version}${queryOf(request.url)}`, 302);
  }
  const versions = parts.length === 2 ? await shelf.versions(naan, name) : [];
  if (versions.length === 0) throw koNotFound(parts.join('/'));
  return lists.versions(request, reply, { naan, name }, versions);
}

/** With its question mark; empty where there is none. */
const queryOf = (url: string): string => (url.includes('?') ? url.slice(url.indexOf('?')) : '');
