// What a knowledge object says of itself and of the knowledge in it.
import { element } from './element.js';

const NOT_STATED = 'not stated';
const ADDRESS = /(https?:\/\/[^\s<>"]+)/;

const linkTo = (href, text) => element('a', text, { href, rel: 'noreferrer' });

/** What ends a sentence and not an address. */
const ENDS = '.,;)]';

/** Addresses in a text can be followed; all else stays text. */
const withLinks = (text) =>
  text.split(ADDRESS).map((part) => {
    if (!ADDRESS.test(part)) return part;
    let end = part.length;
    while (ENDS.includes(part[end - 1])) end--;
    const address = part.slice(0, end);
    return element('span', [linkTo(address, address), part.slice(end)]);
  });

const listOf = (items, show) =>
  items.length < 2
    ? items.flatMap(show)
    : element(
        'ul',
        items.map((each) => element('li', show(each))),
      );

/** @param base address of the service, relative to the page, without a slash at its end. */
export function aboutPanel(base, about) {
  const { id, atId, page, paths } = about;
  const fileAt = (path) => base + '/kos/' + id + '/' + path.split('/').map(encodeURIComponent).join('/');
  const named = (text) => (Object.hasOwn(paths, text) ? linkTo(fileAt(paths[text]), text) : withLinks(text));
  const facts = element('dl');
  const fact = (name, value) => {
    const isMissing = value === undefined || value.length === 0;
    facts.append(
      element('div', [
        element('dt', name),
        element('dd', isMissing ? NOT_STATED : value, isMissing ? { class: 'missing' } : {}),
      ]),
    );
  };
  const texts = (items = []) => listOf(items, withLinks);
  const one = (text) => texts(text === undefined ? [] : [text]);
  const part = (name, items, show) =>
    items.length === 0 ? [] : element('p', [name + ': ', listOf(items, show)].flat());
  const evidenceOf = ({ title, sources, date, creators, documentation, tests }) =>
    [
      element('p', title ?? texts(sources)),
      ...(title === undefined ? [] : [part('Source', sources, withLinks)].flat()),
      part('Date', date === undefined ? [] : [date], withLinks),
      part('By', creators, withLinks),
      part('Documentation', documentation, named),
      part('Tests', tests, named),
    ].flat();
  fact('Version', one(about.version));
  fact('Date', one(about.date));
  fact('Licence', one(about.license));
  fact('Creator', texts(about.creators));
  if (about.contributors?.length > 0) fact('Contributors', texts(about.contributors));
  fact('Evidence', listOf(about.evidence ?? [], evidenceOf));
  fact('Documentation', listOf(about.documentation ?? [], named));
  fact('Id', element('code', id));
  if (atId !== undefined) fact('@id', element('code', atId));
  return element(
    'section',
    [
      element('h2', about.title ?? id),
      element('p', about.description ?? 'Description ' + NOT_STATED, { class: 'description' }),
      facts,
      page === undefined ? '' : element('p', linkTo(fileAt(page), 'Information page of its authors')),
    ],
    { 'aria-label': 'About this knowledge object' },
  );
}
