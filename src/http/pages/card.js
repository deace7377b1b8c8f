// One knowledge object as the overview shows it.
import { element } from './element.js';
import { filesOf } from './files.js';

export const WORDS = {
  ACTIVATED: 'active',
  FAILED_TO_ACTIVATE: 'failed',
  LOADED: 'being activated',
  NONE: 'not activated',
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
  const links = element('div', [], { class: 'links' });
  const id = idOf(object);
  const link = (text, href) =>
    links.append(element('a', text, { href, 'aria-label': text + ': ' + object.title + ', ' + id }));
  if (object.isDamaged) return '';
  if (!object.isOnShelf) return element('p', 'The shelf has nothing under this id any more.', { class: 'links' });
  const path = encodeURI(object.path.slice(1));
  if (object.endpoints.some((each) => each.status === 'ACTIVATED'))
    link('Try it', 'doc?url=' + encodeURIComponent(object.descriptor).replaceAll('%2F', '/'));
  else link('About', 'doc?ko=' + encodeURI(id));
  if (object.hasPage) link('Information page', path + '/index.html');
  if (object.descriptor !== undefined) link('Service descriptor', object.descriptor.slice(1));
  link('Metadata', path);
  link('Package', path + '?format=zip');
  links.append(filesOf('', encodeURI(id), object.title));
  return links;
};

const otherName = ({ atId }) => (atId === undefined ? [] : [' ', element('code', atId)]);

// Knowledge objects may share a title, never an id.
export const card = (object, endpoints) =>
  element('li', [
    element('h2', [object.title + ' ', element('code', idOf(object)), ...otherName(object)]),
    element('ul', endpoints.map(endpointItem)),
    linksOf(object),
  ]);
