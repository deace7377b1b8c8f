// Lists what runs and what does not, and looks again while something is still being activated.
(function () {
  'use strict';
  const WORDS = {
    ACTIVATED: 'active',
    FAILED_TO_ACTIVATE: 'failed',
    LOADED: 'being activated',
    NONE: 'not activated',
  };
  const FIRST_WAIT = 1000;
  const LONGEST_WAIT = 15000;

  const list = document.getElementById('list');
  const form = document.querySelector('form.filter');
  const base = location.href.split(/[?#]/, 1)[0].replace(/\/$/, '');
  let objects = [];
  let seen = '';

  const read = async (path) => {
    const response = await fetch(path, { headers: { accept: 'application/json' } });
    if (!response.ok) throw new Error('/' + path + ' answers ' + response.status);
    return response.json();
  };

  /** Every knowledge object version that is loaded or on the shelf, with its endpoints. */
  const objectsOf = (endpoints, shelf, failures) => {
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
      object.title ??= metadata.title ?? id;
      object.keywords = [metadata.keywords ?? []].flat();
      if (object.endpoints.length === 0) {
        const why = failures.find((each) => each.knowledgeObject === id)?.cause;
        object.endpoints.push({
          status: 'NONE',
          detail: why ?? 'It is on the shelf and becomes active with the next refresh: /actuator/activation/refresh',
        });
      }
    }
    for (const { onShelf, cause } of failures) {
      if (onShelf === undefined) continue;
      const damaged = { title: onShelf, isOnShelf: true, endpoints: [{ status: 'NONE', detail: cause }], keywords: [] };
      found.set(onShelf, { path: onShelf, isDamaged: true, ...damaged });
    }
    return [...found.values()].sort((a, b) => a.path.localeCompare(b.path, 'en', { numeric: true }));
  };

  const element = (name, content, attributes) => {
    const made = document.createElement(name);
    made.append(...[content ?? []].flat());
    for (const [key, value] of Object.entries(attributes ?? {})) made.setAttribute(key, value);
    return made;
  };

  const endpointItem = (endpoint) => {
    const place = element('li', element('span', WORDS[endpoint.status] ?? endpoint.status, { class: 'status' }), {
      class: endpoint.status,
    });
    if (endpoint['@id'] !== undefined) {
      const method = endpoint.engine === 'resource' ? 'GET' : 'POST';
      place.append(element('code', method + ' /' + endpoint['@id']), element('span', endpoint.engine));
    }
    if (endpoint.detail) place.append(element('p', endpoint.detail, { class: 'detail' }));
    return place;
  };

  const idOf = (object) => (object.isDamaged ? '' : object.path.slice('/kos/'.length));

  const linksOf = (object) => {
    const links = element('p', [], { class: 'links' });
    const link = (text, href) =>
      links.append(element('a', text, { href, 'aria-label': text + ': ' + object.title + ', ' + idOf(object) }));
    if (object.isDamaged) return '';
    if (!object.isOnShelf) return element('p', 'The shelf has nothing under this id any more.', { class: 'links' });
    const path = encodeURI(object.path.slice(1));
    if (object.endpoints.some((each) => each.status === 'ACTIVATED'))
      link('Try it', 'doc?url=' + encodeURIComponent(object.descriptor).replaceAll('%2F', '/'));
    if (object.descriptor !== undefined) link('Service descriptor', encodeURI(object.descriptor.slice(1)));
    link('Metadata', path);
    link('Package', path + '?format=zip');
    return links;
  };

  // Knowledge objects may share a title, never an id.
  const card = (object, endpoints) =>
    element('li', [
      element('h2', [object.title + ' ', element('code', idOf(object))]),
      element('ul', endpoints.map(endpointItem)),
      linksOf(object),
    ]);

  const counts = (shown) => {
    const all = objects.flatMap((each) => each.endpoints).filter((each) => each.status !== 'NONE');
    const of = (status) => all.filter((each) => each.status === status).length;
    const others = ['FAILED_TO_ACTIVATE', 'LOADED'].filter(of).map((status) => ', ' + of(status) + ' ' + WORDS[status]);
    const idle = objects.filter(({ endpoints }) => endpoints.some((each) => each.status === 'NONE')).length;
    const rest = idle === 0 ? '' : '; ' + idle + ' knowledge object' + (idle === 1 ? '' : 's') + ' ' + WORDS.NONE;
    const some = shown === undefined ? '' : '. ' + shown + (shown === 1 ? ' matches' : ' match');
    return of('ACTIVATED') + ' of ' + all.length + ' endpoints active' + others.join('') + rest + some;
  };

  const show = () => {
    const text = form.elements.text.value.trim().toLowerCase();
    const status = form.elements.status.value;
    const matches = (object) => (endpoint) =>
      (status === '' || endpoint.status === status) &&
      [object.title, object.path, object.keywords, endpoint['@id'], endpoint.engine]
        .join(' ')
        .toLowerCase()
        .includes(text);
    const shown = objects
      .map((object) => ({ object, endpoints: object.endpoints.filter(matches(object)) }))
      .filter(({ endpoints }) => endpoints.length > 0);
    const focused = document.activeElement?.getAttribute('href');
    list.replaceChildren(...shown.map(({ object, endpoints }) => card(object, endpoints)));
    // Whoever was on a link of the list stays there when the list changes.
    if (focused && !document.activeElement?.hasAttribute('href'))
      [...list.querySelectorAll('a')].find((each) => each.getAttribute('href') === focused)?.focus();
    const isFiltered = text !== '' || status !== '';
    document.getElementById('counts').textContent = counts(
      isFiltered ? shown.flatMap(({ endpoints }) => endpoints).length : undefined,
    );
    document.getElementById('empty').hidden = objects.length > 0;
    form.hidden = objects.length === 0;
  };

  const isVisible = () =>
    new Promise((resolve) => {
      const look = () => {
        if (document.hidden) document.addEventListener('visibilitychange', look, { once: true });
        else resolve();
      };
      look();
    });

  const load = async (wait) => {
    const [endpoints, shelf, health] = await Promise.all([read('endpoints'), read('kos'), read('actuator/health')]);
    const failures = health.components?.activationService?.details?.failures ?? [];
    const now = JSON.stringify([endpoints, shelf, failures]);
    if (now !== seen) {
      seen = now;
      objects = objectsOf(endpoints, shelf, failures);
      show();
    }
    if (!endpoints.some((each) => each.status === 'LOADED')) return;
    await new Promise((resolve) => setTimeout(resolve, wait));
    await isVisible();
    await load(Math.min(wait * 1.5, LONGEST_WAIT));
  };

  document.querySelector('#empty pre').textContent =
    'curl -F ko=@my-knowledge-object.zip ' + base + '/kos\ncurl ' + base + '/actuator/activation/refresh';
  form.addEventListener('input', show);
  form.addEventListener('submit', (event) => event.preventDefault());
  load(FIRST_WAIT).catch((error) => {
    const problem = document.getElementById('problem');
    problem.textContent = 'The list of endpoints cannot be read: ' + error.message + '. Reload this page to try again.';
    problem.hidden = false;
    if (objects.length === 0) document.getElementById('counts').textContent = '';
  });
})();
