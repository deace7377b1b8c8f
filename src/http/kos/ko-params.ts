/** Which KO the path of a request names. */
import type { FastifyRequest } from 'fastify';
import { isKoPart, koKey } from '../../knowledge-object/id.ts';
import type { KoId } from '../../knowledge-object/id.ts';
import { koNotFound } from '../../lib/errors.ts';
import type { Shelf, ShelfEntry } from '../../shelf/shelf.ts';

export interface KoParams {
  readonly naan: string;
  readonly name: string;
  readonly version?: string;
  /** The path of a file. */
  readonly '*'?: string;
}

export const paramsOf = (request: FastifyRequest): KoParams => request.params as KoParams;

export function idOf(request: FastifyRequest): KoId {
  const { naan, name, version = '' } = paramsOf(request);
  return { naan, name, version };
}

export const isId = ({ naan, name, version }: KoId): boolean => isKoPart(naan) && isKoPart(name) && isKoPart(version);

/** @throws koNotFound. */
export async function requireKo(shelf: Shelf, id: KoId): Promise<ShelfEntry> {
  const entry = await shelf.find(id);
  if (entry === undefined) throw koNotFound(koKey(id));
  return entry;
}
