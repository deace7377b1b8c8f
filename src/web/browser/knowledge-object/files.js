// Files of a package, and one of them as text or as a picture: never as markup.
import { base, pathOf } from '../shared/api.js';
import { html, useState } from '../shared/html.js';
import { isPicture, MOST_BYTES, readText, sizeOf } from '../shared/package-file-text.js';
import { Numbered } from '../shared/text-lines.js';
import { countOf, hrefOf, Problem, Waiting } from '../shared/parts.js';
import { onShelf } from '../shared/packages.js';
import { useLoaded, useResult } from '../shared/use-result.js';

/** Files that are listed before somebody looks for one. */
const MOST_FILES = 500;
const MOST_PICTURE_BYTES = 10_000_000;

const Viewer = ({ id, file, state }) => {
  const { path, size } = file;
  const asPicture = isPicture(path) && size <= MOST_PICTURE_BYTES;
  const address = onShelf(id).file(path);
  const { data, error } = useResult(
    asPicture ? undefined : id + '/' + path,
    (signal) => readText(address, signal),
    state,
  );
  return html`<article aria-labelledby="ko-file">
    <h2 id="ko-file">${path}</h2>
    <p>${sizeOf(size)} · <a href=${base + address} download=${path.split('/').at(-1)}>Download</a></p>
    <${Problem} error=${error} />
    ${asPicture && html`<img class="picture" src=${base + address} alt=${'Picture ' + path} />`}
    ${data !== undefined && data.text === undefined && html`<p>This is no text: it can be downloaded.</p>`}
    ${
      data?.text !== undefined &&
      html`
        ${data.isCut && html`<p class="note">Only the first ${sizeOf(MOST_BYTES)} are shown.</p>`}
        <${Numbered} text=${data.text} label=${'Content of ' + path} />
      `
    }
  </article>`;
};

export const Files = ({ id, about, rest }) => {
  const digest = about.shelf?.digest;
  const loaded = useLoaded(digest && 'doc/files/' + pathOf(id), digest);
  const { data } = loaded;
  const [filter, setFilter] = useState('');
  const wanted = filter.trim().toLowerCase();
  const found = (data ?? []).filter(({ path }) => path.toLowerCase().includes(wanted));
  const open = data?.find(({ path }) => path === rest);
  return html`
    ${digest === undefined ? html`<p class="empty">It is not on the shelf any more.</p>` : html`<${Waiting} of=${loaded} />`}
    ${
      data?.length > 20 &&
      html`<label
        >Find a file <input type="search" value=${filter} onInput=${(event) => setFilter(event.currentTarget.value)} />
      </label>`
    }
    <ul class="files" aria-label=${'Files of ' + id}>
      ${found.slice(0, MOST_FILES).map(
        ({ path, size }) =>
          html`<li key=${path}>
            <a href=${hrefOf(id, 'files', path)} aria-current=${path === rest ? 'true' : undefined}>${path}</a>
            <span class="quiet">${sizeOf(size)}</span>
          </li>`,
      )}
    </ul>
    ${found.length > MOST_FILES && html`<p>${countOf(found.length - MOST_FILES, 'more file')}: look for one by its name.</p>`}
    ${rest !== '' && data !== undefined && open === undefined && html`<p class="note bad" role="alert">There is no file ${rest}.</p>`}
    ${open !== undefined && html`<${Viewer} key=${rest} id=${id} file=${open} state=${digest} />`}
  `;
};
