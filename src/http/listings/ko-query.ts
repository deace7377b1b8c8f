import type { FastifyRequest } from 'fastify';
import { koKey, parseKoId } from '../../knowledge-object/id.ts';
import { malformedRequest } from '../../lib/errors.ts';
import { textIn } from './list-query.ts';

/** Which knowledge object `?ko=` names, whether it is there or not. @throws malformedRequest. */
export function koIn(request: FastifyRequest): string | undefined {
  const text = textIn(request, 'ko');
  if (text === undefined) return undefined;
  const id = parseKoId(text);
  if (id === undefined) throw malformedRequest('ko must be <naan>/<name>/<version>');
  return koKey(id);
}
