// What the service says of knowledge objects, brought together by their ids.
const NEXT = 'It is on the shelf and becomes active with the next refresh: /actuator/activation/refresh';
const PROBLEM = 'It has a problem and does not run. A login shows which.';

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
  for (const metadata of shelf) {
    const id = String(metadata['@id']).replace(/\/$/, '');
    const object = objectAt('/kos/' + id);
    object.isOnShelf = true;
    object.title ??= String(metadata.title ?? id);
    object.keywords = [metadata.keywords ?? []].flat();
    if (object.endpoints.length > 0) continue;
    const why = failures?.find((each) => each.knowledgeObject === id)?.cause;
    const detail = why ?? (state.problems.includes(id) ? PROBLEM : NEXT);
    object.endpoints.push({ status: 'NONE', detail });
  }
  for (const { onShelf, cause } of failures ?? []) {
    if (onShelf === undefined) continue;
    const damaged = { title: onShelf, isOnShelf: true, endpoints: [{ status: 'NONE', detail: cause }], keywords: [] };
    found.set(onShelf, { path: onShelf, isDamaged: true, ...damaged });
  }
  return [...found.values()].sort((a, b) => a.path.localeCompare(b.path, 'en', { numeric: true }));
}
