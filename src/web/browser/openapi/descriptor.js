// What of a descriptor the editor is given.

/** The knowledge object version that a descriptor belongs to, under the path `base`. */
export const idOf = (base, url) => url.pathname.slice(base.length).match(/^\/kos\/([^/]+\/[^/]+\/[^/]+)\//)?.[1];

/** The service's own interface, of which every path may be tried. */
const isInterface = (base, url) => [base + '/openapi.yaml', base + '/openapi.json'].includes(url.pathname);

/** Whether a path stands for itself: none of its parts is read as another place. */
export const isPlainPath = (path) =>
  path.startsWith('/') && !/[\\?#\s\p{Cc}]|\/\/|%(?:2f|5c)|\/(?:\.|%2e){1,2}(?:\/|$)/iu.test(path);

/** Tells of an address, by where it leads in the end, whether it is one of the knowledge object of a descriptor. */
export function ownAddresses({ base, url, endpoints }) {
  const [naan, name] = idOf(base, url)?.split('/') ?? [];
  const own = [
    ...(naan === undefined ? [] : [[base, naan, name, ''].join('/')]),
    ...endpoints.map(({ server }) => server + '/'),
    ...(isInterface(base, url) ? [base + '/'] : []),
  ];
  return (address) => {
    const target = URL.parse(address, url);
    if (target?.origin !== url.origin) return false;
    return isPlainPath(target.pathname) && own.some((start) => target.pathname.startsWith(start));
  };
}

/**
 * Whatever the descriptor says about servers, what is tried is the very version that was opened. Paths that would lead
 * elsewhere are left out, and `say` is told; the login is that of the page, so none that the descriptor asks for.
 */
export function withOwnServers(descriptor, { base, url, endpoints }, say) {
  const [naan, name] = idOf(base, url)?.split('/') ?? [];
  const ko = naan === undefined ? '' : '/' + [naan, name, descriptor.info?.version].join('/');
  const server = endpoints[0]?.server ?? (base + ko || '/');
  const [plain, others] = [true, false].map((wanted) =>
    Object.entries(descriptor.paths ?? {}).filter(([path]) => isPlainPath(path) === wanted),
  );
  if (others.length > 0) say('Not shown here, since it leads elsewhere: ' + others.map(([path]) => path).join(', '));
  const paths = plain.map(([path, { servers: _, ...item }]) => {
    for (const [method, operation] of Object.entries(item)) {
      if (operation?.servers === undefined) continue;
      const { servers: _, ...rest } = operation;
      item[method] = rest;
    }
    const own = endpoints.find((each) => each.path === path)?.server ?? server;
    return [path, own === server ? item : { ...item, servers: [{ url: own }] }];
  });
  const own = { ...descriptor, servers: [{ url: server }], paths: Object.fromEntries(paths) };
  if (isInterface(base, url)) return own;
  const { security: _, components: { securitySchemes: __, ...components } = {}, ...rest } = own;
  return { ...rest, components };
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
