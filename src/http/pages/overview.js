// Lists what runs and what does not.
(function () {
  'use strict';
  const list = document.querySelector('ul.endpoints');
  const form = document.querySelector('form.filter');
  const WORDS = { ACTIVATED: 'active', FAILED_TO_ACTIVATE: 'failed', LOADED: 'being activated' };
  let endpoints = [];

  const element = (name, text, attributes) => {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    for (const [key, value] of Object.entries(attributes ?? {})) made.setAttribute(key, value);
    return made;
  };

  const item = (endpoint) => {
    const id = endpoint['@id'];
    const place = element('li', undefined, { class: endpoint.status });
    const head = element('h2', endpoint.title);
    head.append(element('span', WORDS[endpoint.status] ?? endpoint.status, { class: 'status' }));
    const address = element('p');
    address.append(
      element('code', (endpoint.engine === 'resource' ? 'GET /' : 'POST /') + id),
      ' · ' + endpoint.engine + ' · version ' + endpoint.knowledgeObject.split('/').pop(),
    );
    const links = element('p', undefined, { class: 'links' });
    const link = (text, href, what) => links.append(element('a', text, { href, 'aria-label': text + ': ' + what }));
    if (endpoint.status === 'ACTIVATED') link('Try it', endpoint.swaggerLink, id);
    link('Service descriptor', endpoint.hasServiceSpecification.slice(1), id);
    link('Metadata', endpoint.knowledgeObject.slice(1), id);
    link('Package', endpoint.knowledgeObject.slice(1) + '?format=zip', id);
    place.append(head, address);
    if (endpoint.detail) place.append(element('p', endpoint.detail, { class: 'detail' }));
    place.append(links);
    return place;
  };

  const show = () => {
    const text = form.elements.text.value.trim().toLowerCase();
    const status = form.elements.status.value;
    const shown = endpoints.filter(
      (each) =>
        (status === '' || each.status === status) &&
        (text === '' ||
          [each.title, each['@id'], each.engine, each.knowledgeObject].join(' ').toLowerCase().includes(text)),
    );
    list.replaceChildren(...shown.map(item));
    const active = endpoints.filter((each) => each.status === 'ACTIVATED').length;
    const some = shown.length === endpoints.length ? '' : ', ' + shown.length + ' shown';
    document.getElementById('counts').textContent = active + ' of ' + endpoints.length + ' endpoints are active' + some;
  };

  form.addEventListener('input', show);
  form.addEventListener('submit', (event) => event.preventDefault());
  fetch('endpoints', { headers: { accept: 'application/json' } })
    .then((response) => (response.ok ? response.json() : Promise.reject(new Error('HTTP ' + response.status))))
    .then((found) => {
      endpoints = found;
      show();
    })
    .catch((error) => {
      const problem = document.getElementById('problem');
      problem.textContent = 'The list of endpoints cannot be read: ' + error.message;
      problem.hidden = false;
      document.getElementById('counts').textContent = '';
    });
})();
