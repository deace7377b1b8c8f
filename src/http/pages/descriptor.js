// What of a descriptor the editor is given.

/** The knowledge object version that a descriptor belongs to, under the path `base`. */
export const idOf = (base, url) => url.pathname.slice(base.length).match(/^\/kos\/([^/]+\/[^/]+\/[^/]+)\//)?.[1];

/** Whatever the descriptor says about servers, what is tried is the very version that was opened. */
export function withOwnServers(descriptor, { base, url, endpoints }) {
  const [naan, name] = idOf(base, url)?.split('/') ?? [];
  const ko = naan === undefined ? '' : '/' + [naan, name, descriptor.info?.version].join('/');
  const server = endpoints[0]?.server ?? (base + ko || '/');
  const paths = Object.entries(descriptor.paths ?? {}).map(([path, { servers: _, ...item }]) => {
    for (const [method, operation] of Object.entries(item)) {
      if (operation?.servers === undefined) continue;
      const { servers: _, ...rest } = operation;
      item[method] = rest;
    }
    const own = endpoints.find((each) => each.path === path)?.server ?? server;
    return [path, own === server ? item : { ...item, servers: [{ url: own }] }];
  });
  return { ...descriptor, servers: [{ url: server }], paths: Object.fromEntries(paths) };
}

/** A descriptor may refer to other files of its package; anything else is left alone, and `say` is told. */
export function withoutOthers(descriptor, isOwn, say) {
  const others = new Set();
  const walk = (value) => {
    if (Array.isArray(value)) return value.map(walk);
    if (value === null || typeof value !== 'object') return value;
    if (typeof value.$ref === 'string' && !isOwn(value.$ref)) {
      others.add(value.$ref);
      return { description: 'Described at ' + value.$ref };
    }
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, walk(each)]));
  };
  const walked = walk(descriptor);
  if (others.size > 0) say('Described elsewhere, and not shown here: ' + [...others].join(', '));
  return walked;
}

export const operationsOf = (descriptor) =>
  Object.values(descriptor.paths ?? {})
    .flatMap((item) => Object.values(item ?? {}))
    .filter((each) => each?.responses);
