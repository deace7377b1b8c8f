// What the views of knowledge objects read from the service.
import { get, pathOf, send } from './api.js';

/** Entries of a page. */
const PAGE = 25;
/** Endpoints that are read at once, and how often. */
const PART = 50;
const MOST_PARTS = 20;

/** In words, by the status of an endpoint. */
export const WORDS = { ACTIVATED: 'active', FAILED_TO_ACTIVATE: 'failed', LOADED: 'being activated' };
export const KINDS = { ACTIVATED: 'good', FAILED_TO_ACTIVATE: 'bad', LOADED: 'wait' };

/** Address in the console. */
export const hrefOf = (id, ...rest) => '#/kos/' + [id, ...rest].map(pathOf).join('/');

/** Path of a file of a knowledge object. */
export const filePath = (id, path) => 'kos/' + pathOf(id) + '/' + pathOf(path);

export const nameOf = (id) => id.split('/').slice(0, 2).join('/');
export const versionOf = (id) => id.split('/')[2];

const first = (value) => [value].flat()[0];
const textOf = (value) => (typeof value === 'object' ? value?.['@value'] : value);
const atIdOf = (metadata) =>
  String(metadata['@id'] ?? '')
    .replace(/^_:/, '')
    .replace(/\/$/, '');

/** What a person calls it. */
export function titleOf(metadata, id) {
  const title = String(textOf(first(metadata.title ?? metadata['dc:title'])) ?? id);
  return title.length > 300 ? title.slice(0, 300) + '…' : title;
}

/**
 * Knowledge objects of a list, by their places: one whose `@id` is a word or a URL stands elsewhere.
 * @returns {Promise<{id: string, title: string}[]>}
 */
export async function placed(entries) {
  const isPlace = (atId) => atId.split('/').length === 3 && !/[:%\s]/.test(atId);
  const atIds = entries.map(atIdOf);
  const { places } = atIds.every(isPlace) ? { places: {} } : await get('doc/overview.json');
  const used = new Set();
  return entries.map((metadata, i) => {
    const found = Object.hasOwn(places, atIds[i]) ? places[atIds[i]] : [];
    const version = String(textOf(first(metadata.version ?? metadata['dc:version'])) ?? '');
    const free = found.filter((each) => !used.has(each));
    const id = free.find((each) => versionOf(each) === version) ?? free[0] ?? atIds[i];
    used.add(id);
    return { id, title: titleOf(metadata, id) };
  });
}

const afterIn = (link) => {
  const [, address] = /^<([^<>]*)>; rel="next"$/.exec(link ?? '') ?? [];
  return address === undefined ? undefined : new URL(address, location.href).searchParams.get('after');
};

/** A page of a list of the service; `next` is where the following one begins. */
export async function readPage(path, query, signal) {
  const asked = new URLSearchParams({ limit: String(PAGE) });
  for (const [key, value] of Object.entries(query)) if (value) asked.set(key, value);
  const response = await send('GET', path + '?' + asked, { signal });
  return { entries: await response.json(), next: afterIn(response.headers.get('link')) };
}

/** Place of the knowledge object of an endpoint. */
export const koOf = (endpoint) => endpoint.knowledgeObject.replace(/^\/kos\//, '');

/** Endpoints of all versions of the knowledge objects of these names, of which no other stands between them. */
async function endpointsOfNames(names, signal) {
  const found = [];
  let after = names[0] + '/0/-,0,get';
  for (let i = 0; i < MOST_PARTS && after !== undefined; i++) {
    const { entries, next } = await readPage('endpoints', { after, limit: String(PART) }, signal);
    found.push(...entries.filter((each) => names.includes(nameOf(koOf(each)))));
    after = entries.length > 0 && names.includes(nameOf(koOf(entries.at(-1)))) ? next : undefined;
  }
  return found;
}

/** Endpoints of all versions of a knowledge object. */
export const endpointsOfName = (name, signal) => endpointsOfNames([name], signal);

/** Endpoints of the knowledge objects of a page, by place. `isWhole`: no others stand between those of the page. */
export async function endpointsOf(ids, isWhole, signal) {
  const names = [...new Set(ids.map(nameOf))];
  if (names.length === 0) return new Map();
  const lists = isWhole
    ? [await endpointsOfNames(names, signal)]
    : await Promise.all(names.map((name) => endpointsOfName(name, signal)));
  return Map.groupBy(lists.flat(), koOf);
}

/** `{metadata, etag, digest}` of what is on the shelf. */
export async function readKo(id, signal) {
  const response = await send('GET', 'kos/' + pathOf(id), { signal });
  const { headers } = response;
  return { metadata: await response.json(), etag: headers.get('etag'), digest: headers.get('kgrid-package-digest') };
}
