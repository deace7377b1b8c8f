// Swagger UI on a service descriptor of this service. Only this service is ever asked, and a login goes only to the addresses
// of the knowledge object itself.
import { base as root, loginHeaders } from '../session.js';
import { idOf, ownAddresses, withOwnServers, withoutOthers } from './descriptor.js';

const base = root.replace(/\/$/, '');

const note = (text) => {
  const place = document.createElement('p');
  place.className = 'note';
  place.textContent = text;
  document.getElementById('notes').append(place);
};

/** URL of the descriptor. @throws where it is none of this service. */
const wantedDescriptor = async () => {
  const wanted = new URLSearchParams(location.search).get('url') ?? '';
  const url = URL.parse(wanted.startsWith('/') ? base + wanted : wanted, location.href);
  if (url === null || url.origin !== location.origin)
    throw new Error('The service descriptor must be one of this service: ' + wanted);
  // HEAD acts nowhere, whatever path was given.
  const { ok, status } = await fetch(url, { method: 'HEAD' });
  if (!ok) throw new Error('No service descriptor can be read at ' + wanted + ': the service answers ' + status);
  return url;
};

/** Endpoints that this descriptor declares. */
const endpointsOf = async (url, id) => {
  const response = await fetch(base + '/doc/about/' + id, { headers: { accept: 'application/json' } });
  if (!response.ok) return [];
  const { endpoints, title } = await response.json();
  document.title = (title ?? id) + ' · KGrid Activator';
  const pathOf = (file) => file.split('/').map(encodeURIComponent).join('/');
  return endpoints
    .filter(({ descriptor }) => new URL(base + '/kos/' + id + '/' + pathOf(descriptor), url).pathname === url.pathname)
    .map((each) => {
      const [naan, name, version, ...path] = each.id.split('/');
      return { ...each, path: '/' + path.join('/'), server: [base, naan, name, version].join('/') };
    });
};

const open = async () => {
  const url = await wantedDescriptor();
  const id = idOf(base, url);
  const endpoints = id === undefined ? [] : await endpointsOf(url, id);
  const back = /** @type {HTMLAnchorElement} */ (document.getElementById('back'));
  if (id !== undefined) back.href = base + '/#/kos/' + id;
  for (const { path, status, detail } of endpoints)
    if (status !== 'ACTIVATED') note(path + ' is not active' + (detail ? ': ' + detail : ''));
  const [folder] = url.pathname.match(/^.*\/kos\/[^/]+\/[^/]+\/[^/]+\//) ?? [url.pathname];
  const isOwn = (reference) => {
    const target = URL.parse(reference, url);
    return target?.origin === location.origin && target.pathname.startsWith(folder);
  };
  const owns = ownAddresses({ base, url, endpoints });
  for (const event of ['click', 'auxclick'])
    document.addEventListener(event, (press) => {
      const { href = '' } = /** @type {Element} */ (press.target).closest('#editor a[href]') ?? Object(undefined);
      // What an author links to is followed with what the browser knows of logins.
      if (URL.parse(href)?.origin === location.origin && !isOwn(href) && !owns(href)) press.preventDefault();
    });
  const updateJsonSpec = (update) => (descriptor) =>
    descriptor === null || typeof descriptor !== 'object'
      ? update(descriptor)
      : update(withOwnServers(withoutOthers(descriptor, isOwn, note), { base, url, endpoints }, note));
  Object(window).SwaggerUIBundle({
    url: url.href,
    dom_id: '#editor',
    deepLinking: false,
    validatorUrl: null,
    tryItOutEnabled: true,
    showMutatedRequest: false,
    defaultModelsExpandDepth: -1,
    syntaxHighlight: { theme: 'obsidian' },
    plugins: [() => ({ statePlugins: { spec: { wrapActions: { updateJsonSpec } } } })],
    requestInterceptor(request) {
      if (!request.loadSpec && owns(request.url))
        // Not put into the request itself, of which the page shows the headers.
        return { ...request, headers: { ...loginHeaders(), ...request.headers }, credentials: 'omit' };
      if (!request.loadSpec || !isOwn(request.url)) throw new Error('Not of this knowledge object: ' + request.url);
      return request;
    },
  });
};

/** Swagger UI has dark colours of its own. */
const dark = matchMedia('(prefers-color-scheme: dark)');
const colour = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', colour);
colour();
open().catch((error) => note('The service descriptor cannot be opened: ' + error.message));
