/** What the operations of the Shelf API work on. */
import type { FastifyRequest } from 'fastify';
import type { Activator } from '../../activation/activator.ts';
import { isKoPart, koKey, type KoId } from '../../knowledge-object/id.ts';
import { koNotFound } from '../../lib/errors.ts';
import type { ImportTarget } from '../../shelf/import/import-zip.ts';
import type { ManifestImporter } from '../../shelf/manifest/create-manifest-importer.ts';
import type { Shelf, ShelfEntry } from '../../shelf/shelf.ts';
import type { ServiceEvents } from '../service-events.ts';
import { type ReadableShelf, visibleShelf } from '../../identity/visible.ts';
import type { KoLists } from './ko-lists.ts';

export interface KoParts extends ImportTarget {
  readonly manifests: ManifestImporter;
  readonly activator: Activator;
  /** Are told how far an import has come. */
  readonly events: Pick<ServiceEvents, 'tell'>;
}

/** The shelf as whoever asks sees it. */
export const shelfFor = ({ principal }: FastifyRequest, shelf: Shelf): ReadableShelf =>
  visibleShelf(shelf, principal.grants);

export interface KoContext extends KoParts {
  readonly lists: KoLists;
}

/** Which KO the path of a request names. */
interface KoParams {
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
export async function requireKo(shelf: Pick<Shelf, 'find'>, id: KoId): Promise<ShelfEntry> {
  const entry = await shelf.find(id);
  if (entry === undefined) throw koNotFound(koKey(id));
  return entry;
}
