// The files of a knowledge object, what people read of them first.
import { element } from './element.js';
import { read } from './read.js';

const README = /^readme(\.\w+)?$/i;
const WORKED = /^worked-examples\.ya?ml$/;
const wordsFor = (path) => (README.test(path) ? 'README' : WORKED.test(path) ? 'Worked examples' : path);
const place = (path) => (README.test(path) ? 0 : WORKED.test(path) ? 1 : 2);

const SIZES = ['bytes', 'kB', 'MB', 'GB'];
const sizeOf = (bytes) => {
  const step = bytes < 1000 ? 0 : Math.min(Math.floor(Math.log10(bytes) / 3), 3);
  return Number((bytes / 1000 ** step).toPrecision(2)) + ' ' + SIZES[step];
};

const hrefOf = (base, id, path) => base + 'kos/' + id + '/' + path.split('/').map(encodeURIComponent).join('/');

/**
 * Closed until somebody wants to see it, and read then.
 * `base`: address of the service, relative to the page, with a slash at its end.
 */
export function filesOf(base, id, title) {
  const list = element('ul', [], { class: 'files' });
  const said = element('p', 'Loading…', { 'aria-live': 'polite' });
  const box = element('details', [
    element('summary', 'Files', { 'aria-label': 'Files: ' + title + ', ' + id }),
    said,
    list,
  ]);
  const open = async () => {
    const files = await read(base + 'doc/files/' + id);
    files.sort((a, b) => place(a.path) - place(b.path));
    list.replaceChildren(
      ...files.map(({ path, size }) =>
        element('li', [element('a', wordsFor(path), { href: hrefOf(base, id, path) }), ' ' + sizeOf(size)]),
      ),
    );
    said.hidden = true;
  };
  box.addEventListener('toggle', () => {
    if (box.open && list.childElementCount === 0)
      open().catch((error) => (said.textContent = 'The files cannot be listed: ' + error.message));
  });
  return box;
}
