/** Lists of the KOs on the shelf: "200 array of metadata", whole or in parts. */
import { createHash } from 'node:crypto';
import { setImmediate as othersFirst } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Activator } from '../../activation/activator.ts';
import { compareIds, isKoPart, type KoId, koKey, type KoName, parseKoId } from '../../knowledge-object/id.ts';
import { notFound } from '../../lib/errors.ts';
import type { Shelf, ShelfEntry } from '../../shelf/shelf.ts';
import { type EndpointTexts, wordsIn } from '../listings/endpoint-texts.ts';
import { linkNext, type ListQuery, listQueryOf, type Page, pageOf } from '../listings/list-query.ts';
import { isFoundBy, searchTextOf } from '../../lib/search.ts';
import { metadataText, sendJson } from './read-ko.ts';
import type { ReadableShelf } from '../../identity/visible.ts';
import { shelfFor } from './ko-context.ts';

/** Whole lists that are kept, each as somebody sees it. */
const MOST_WHOLE = 8;
/** KOs that are looked through before other requests have their turn. */
const BLOCK_ENTRIES = 500;

interface Whole {
  readonly revision: number;
  readonly body: Buffer;
  readonly etag: string;
}

export interface KoListsOptions {
  readonly shelf: Shelf;
  readonly activator: Activator;
  readonly texts: EndpointTexts;
}

export class KoLists {
  readonly #shelf: Shelf;
  readonly #activator: Activator;
  readonly #texts: EndpointTexts;
  readonly #searched = new WeakMap<ShelfEntry, string>();
  /** By the grants of whoever sees it so. */
  readonly #whole = new Map<string, Whole>();

  constructor({ shelf, activator, texts }: KoListsOptions) {
    this.#shelf = shelf;
    this.#activator = activator;
    this.#texts = texts;
  }

  /** `GET /kos`: "200 array of metadata of all KOs on the shelf", or the part that the query asks for. */
  async all(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const query = listQueryOf(request, parseKoId);
    const shelf = shelfFor(request, this.#shelf);
    if (query !== undefined) return sendPage(request, reply, await this.#find(shelf, query), '/kos');
    const { grants } = request.principal;
    const key = grants.everywhere('read') ? '' : grants.key;
    // Asked for before the list: what changes in between is then looked at again.
    const revision = await shelf.revision();
    let whole = this.#whole.get(key);
    if (whole?.revision !== revision) {
      const body = bodyOf(await shelf.list());
      whole = { revision, body, etag: etagOf(body) };
      if (this.#whole.size >= MOST_WHOLE) this.#whole.clear();
      this.#whole.set(key, whole);
    }
    return sendJson(request, reply, whole.body, whole.etag);
  }

  /** Those of one naan. @throws notFound where there is none. */
  async ofNaan(request: FastifyRequest, reply: FastifyReply, naan: string): Promise<FastifyReply> {
    const query = listQueryOf(request, parsePlaceOf(naan)) ?? ALL;
    const start = { naan, name: '', version: '' };
    const shelf = shelfFor(request, this.#shelf);
    const [first] = isKoPart(naan) ? await shelf.list({ after: start, limit: 1 }) : [];
    if (first?.id.naan !== naan)
      throw notFound(`There is no knowledge object of ${naan}: use /kos/<naan>/<name>/<version>, or /kos for all`);
    const page = await this.#find(shelf, { ...query, after: query.after ?? start }, naan);
    return sendPage(request, reply, page, `/kos/${naan}`);
  }

  /** All versions of one KO, oldest first. */
  versions(
    request: FastifyRequest,
    reply: FastifyReply,
    { naan, name }: KoName,
    all: readonly ShelfEntry[],
  ): FastifyReply {
    const query = listQueryOf(request, parsePlaceOf(naan));
    if (query === undefined) return sendJson(request, reply, bodyOf(all));
    const { after, search, limit } = query;
    const isBehind = ({ id }: ShelfEntry): boolean => after === undefined || compareIds(id, after) > 0;
    const page = pageOf(all, isBehind, (entry) => this.#isFound(entry, search), limit);
    return sendPage(request, reply, page, `/kos/ark:/${naan}/${name}`);
  }

  /** Looks through the shelf part by part, for as long as the page needs it. */
  async #find(
    shelf: ReadableShelf,
    { after, limit = Infinity, search }: ListQuery<KoId>,
    naan?: string,
  ): Promise<Page<ShelfEntry>> {
    const entries: ShelfEntry[] = [];
    for (let place = after; ; await othersFirst()) {
      const many = search === '' ? Math.min(BLOCK_ENTRIES, limit - entries.length + 1) : BLOCK_ENTRIES;
      const part = await shelf.list({ after: place, limit: many });
      for (const entry of part) {
        if (naan !== undefined && entry.id.naan !== naan) return { entries, more: false };
        if (!this.#isFound(entry, search)) continue;
        if (entries.length === limit) return { entries, more: true };
        entries.push(entry);
      }
      if (part.length < many) return { entries, more: false };
      place = part.at(-1)?.id;
    }
  }

  /** By what it says of itself, or by one of its endpoints. */
  #isFound(entry: ShelfEntry, search: string): boolean {
    if (search === '' || isFoundBy(this.#searchedIn(entry), search)) return true;
    const key = koKey(entry.id);
    return this.#activator.set
      .ofName(entry.id)
      .some((each) => each.ko.key === key && isFoundBy(this.#texts.searched(each), search));
  }

  #searchedIn(entry: ShelfEntry): string {
    let text = this.#searched.get(entry);
    if (text === undefined) {
      const { title, keywords } = wordsIn(metadataText(entry));
      text = searchTextOf([`/kos/${koKey(entry.id)}`, title, keywords, entry.atId]);
      this.#searched.set(entry, text);
    }
    return text;
  }
}

const ALL = { limit: undefined, after: undefined, search: '' } as const;

/** A place among the KOs of one naan. */
const parsePlaceOf =
  (naan: string) =>
  (text: string): KoId | undefined => {
    const id = parseKoId(text);
    return id?.naan === naan ? id : undefined;
  };

const bodyOf = (entries: readonly ShelfEntry[]): Buffer => Buffer.from(`[${entries.map(metadataText).join(',')}]`);

const etagOf = (body: Buffer): string => `"${createHash('sha256').update(body).digest('hex').slice(0, 32)}"`;

function sendPage(
  request: FastifyRequest,
  reply: FastifyReply,
  { entries, more }: Page<ShelfEntry>,
  path: string,
): FastifyReply {
  const last = entries.at(-1);
  if (more && last !== undefined) linkNext(request, reply, path, koKey(last.id));
  const body = bodyOf(entries);
  return sendJson(request, reply, body, etagOf(body));
}
