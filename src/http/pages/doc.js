// Tells what a knowledge object is about, and opens the editor on its service descriptor. Only this service is ever asked.
import { aboutPanel } from './about.js';
import { answersPlugin } from './answers.js';
import { idOf, operationsOf, ownAddresses, withOwnServers, withoutOthers } from './descriptor.js';
import { element } from './element.js';
import { filesOf } from './files.js';
import { loginForm, loginHeaders } from './login.js';
import { read } from './read.js';

// Behind a proxy the service may live below a path.
const base = location.pathname.replace(/\/doc\/?$/, '');

const problem = (text) => {
  const place = document.getElementById('problem');
  place.textContent = text;
  place.hidden = false;
};
const note = (text) => document.getElementById('notes').append(element('li', text));

/** URL of the descriptor; undefined when a problem was shown instead. */
const wantedDescriptor = async () => {
  const wanted = new URLSearchParams(location.search).get('url');
  if (wanted === null || wanted === '') {
    const example = '/doc?url=/kos/<naan>/<name>/<version>/service.yaml';
    return problem('Add ?url= with the path of a service descriptor, such as ' + example);
  }
  const url = URL.parse(wanted.startsWith('/') ? base + wanted : wanted, location.href);
  if (url === null || url.origin !== location.origin)
    return problem('The service descriptor must be one of this service: ' + wanted);
  // HEAD acts nowhere, whatever path was given.
  const { ok, status } = await fetch(url, { method: 'HEAD' });
  return ok ? url : problem('No service descriptor can be read at ' + wanted + ': the service answers ' + status);
};

/** Endpoints that this descriptor declares, as they are now. */
const endpointsOf = async (url) => {
  const endpoints = await read(base + '/endpoints').catch(() => []);
  return endpoints
    .filter((each) => new URL(base + each.hasServiceSpecification, url).pathname === url.pathname)
    .map((each) => {
      const [naan, name, version, ...path] = each['@id'].split('/');
      return { ...each, path: '/' + path.join('/'), server: [base, naan, name, version].join('/') };
    });
};

/** Why nothing of it is active: the service says so to whoever calls, also where only some may read its health. */
const noteIdle = async (id) => {
  const response = await fetch(base + '/' + id, { headers: { accept: 'application/json', ...loginHeaders() } });
  const { Detail = '' } = await response.json().catch(() => ({}));
  const why = Detail.slice(Math.max(Detail.indexOf(id + ' '), 0));
  const reload = '/actuator/activation/reload/' + id;
  const next = Detail.includes(reload) ? '' : '. When that is mended, GET ' + reload + ' activates it';
  note('This knowledge object is not activated, so calls are answered with 404: ' + why + next);
};

const noteStates = async (id, endpoints) => {
  if (endpoints.length === 0 && id !== undefined) await noteIdle(id);
  for (const each of endpoints)
    if (each.status !== 'ACTIVATED') note(each.path + ' is not active' + (each.detail ? ': ' + each.detail : ''));
};

/** Where calls need a login, it can be given here. */
const offerLogin = async () => {
  const { login } = await read(base + '/doc/overview.json');
  if (!login.execution) return;
  const why = 'Calls need a login here. It is kept in this tab alone.';
  document.getElementById('login').append(loginForm(base + '/', why, () => undefined));
};

const withLogin = (request) => {
  const headers = loginHeaders();
  if (headers.authorization === undefined) return request;
  // Not put into the request itself, of which the page shows the headers.
  return { ...request, headers: { ...headers, ...request.headers }, credentials: 'omit' };
};

/** Of the knowledge object that the descriptor belongs to; undefined where it cannot be told. */
const tellAbout = async (id) => {
  const about = await read(base + '/doc/about/' + id).catch(() => undefined);
  if (about === undefined) return undefined;
  document.getElementById('about').replaceChildren(aboutPanel(base, about));
  document.title = (about.title ?? about.id) + ' · KGrid Activator';
  return about;
};

/** `?ko=` names a knowledge object, which need not have a descriptor. */
const openKo = async (ko) => {
  const id = ko.split('/').map(encodeURIComponent).join('/');
  const about = await tellAbout(id);
  if (about === undefined) return problem('There is no knowledge object ' + ko + ' on the shelf of this service');
  if (about.descriptor !== undefined) {
    const path = about.descriptor.split('/').map(encodeURIComponent).join('/');
    return openEditor(URL.parse(base + '/kos/' + id + '/' + path, location.href));
  }
  note('This knowledge object has no service descriptor, and deploys no endpoint.');
  document.querySelector('nav').append(filesOf(base + '/', id, ko));
};

const open = async () => {
  const ko = new URLSearchParams(location.search).get('ko');
  if (ko !== null && ko !== '') return openKo(ko);
  const url = await wantedDescriptor();
  if (url === undefined) return;
  const id = idOf(base, url);
  if (id !== undefined) await tellAbout(id);
  return openEditor(url);
};

const openEditor = async (url) => {
  const endpoints = await endpointsOf(url);
  const id = idOf(base, url);
  await Promise.all([noteStates(id, endpoints), offerLogin().catch(() => undefined)]);
  const [folder] = url.pathname.match(/^.*\/kos\/[^/]+\/[^/]+\/[^/]+\//) ?? [url.pathname];
  const isOwn = (reference) => {
    const target = URL.parse(reference, url);
    return target?.origin === location.origin && target.pathname.startsWith(folder);
  };
  if (id !== undefined) document.querySelector('nav').append(filesOf(base + '/', id, decodeURIComponent(id)));
  const onDescriptor = (update, system) => (descriptor) => {
    if (descriptor === null || typeof descriptor !== 'object') return update(descriptor);
    // The only operation is what was wanted. The editor reads its settings whenever it draws.
    if (operationsOf(descriptor).length === 1) system.getConfigs().docExpansion = 'full';
    if (id === undefined && descriptor.info?.title) document.title = descriptor.info.title + ' · KGrid Activator';
    return update(withOwnServers(withoutOthers(descriptor, isOwn, note), { base, url, endpoints }, note));
  };
  const owns = ownAddresses({ base, url, endpoints });
  for (const event of ['click', 'auxclick'])
    document.addEventListener(event, (press) => {
      const { href = '' } = press.target.closest('#editor a[href], #about a[href]') ?? {};
      // What an author links to is followed with what the browser knows of logins.
      if (URL.parse(href)?.origin === location.origin && !isOwn(href) && !owns(href)) press.preventDefault();
    });
  window.SwaggerUIBundle({
    url: url.href,
    dom_id: '#editor',
    deepLinking: false,
    validatorUrl: null,
    tryItOutEnabled: true,
    showMutatedRequest: false,
    defaultModelsExpandDepth: -1,
    syntaxHighlight: { theme: 'obsidian' },
    plugins: [answersPlugin(onDescriptor)],
    requestInterceptor(request) {
      if (!request.loadSpec && owns(request.url)) return withLogin(request);
      if (!request.loadSpec || !isOwn(request.url)) throw new Error('Not of this knowledge object: ' + request.url);
      return request;
    },
  });
};

/** The editor has dark colours of its own. */
const dark = matchMedia('(prefers-color-scheme: dark)');
const colour = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', colour);
colour();
open().catch((error) => problem('The service descriptor cannot be opened: ' + error.message));
