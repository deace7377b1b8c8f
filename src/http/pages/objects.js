// What the service says of knowledge objects, brought together by their ids.
const NEXT = 'It is on the shelf and becomes active with the next refresh: /actuator/activation/refresh';
const NOTHING = 'It deploys no endpoint.';
const PROBLEM = 'It has a problem and does not run. A login shows which.';

const titleOf = (value) => (typeof value === 'object' ? value?.['@value'] : value);

/**
 * Every knowledge object version that is loaded or on the shelf, with its endpoints.
 * `failures` is there for those only who may see details; `state.problems` and `state.unreadable` for all.
 */
export function objectsOf({ endpoints, shelf, failures, state }) {
  const found = new Map();
  const objectAt = (path) => {
    const made = found.get(path) ?? { path, endpoints: [], keywords: [] };
    found.set(path, made);
    return made;
  };
  for (const endpoint of endpoints) {
    const object = objectAt(endpoint.knowledgeObject);
    object.title = endpoint.title;
    object.descriptor = endpoint.hasServiceSpecification;
    object.endpoints.push(endpoint);
  }
  const seen = new Map();
  for (const metadata of shelf) {
    const atId = String(metadata['@id']).replace(/^_:/, '').replace(/\/$/, '');
    const nth = seen.get(atId) ?? 0;
    seen.set(atId, nth + 1);
    const places = Object.hasOwn(state.places, atId) ? state.places[atId] : [];
    const id = places[nth] ?? atId;
    const object = objectAt('/kos/' + id);
    if (id !== atId) object.atId = atId;
    object.isOnShelf = true;
    object.hasPage = state.pages.includes(id);
    object.title ??= String(metadata.title ?? titleOf(metadata['dc:title']) ?? atId);
    object.keywords = [metadata.keywords ?? metadata['koio:keywords'] ?? metadata['schema:keywords'] ?? []].flat();
    if (object.endpoints.length > 0) continue;
    const why = failures?.find((each) => each.knowledgeObject === id)?.cause;
    const idle = state.withoutEndpoints.includes(id) ? NOTHING : NEXT;
    const detail = why ?? (state.problems.includes(id) ? PROBLEM : idle);
    object.endpoints.push({ status: 'NONE', detail });
  }
  for (const { onShelf, cause } of failures ?? []) {
    if (onShelf === undefined) continue;
    const damaged = { title: onShelf, isOnShelf: true, endpoints: [{ status: 'NONE', detail: cause }], keywords: [] };
    found.set(onShelf, { path: onShelf, isDamaged: true, ...damaged });
  }
  return [...found.values()].sort((a, b) => a.path.localeCompare(b.path, 'en', { numeric: true }));
}
