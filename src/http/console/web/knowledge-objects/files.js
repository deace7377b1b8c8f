// Files of a package, and one of them as text or as a picture: never as markup.
import { base, pathOf } from '../shared/api.js';
import { html, useState } from '../shared/html.js';
import { filePath, hrefOf } from '../shared/knowledge-object-data.js';
import { isPicture, MOST_BYTES, readText, sizeOf } from '../shared/package-file-text.js';
import { Numbered } from '../shared/text-lines.js';
import { countOf, Problem } from '../shared/parts.js';
import { useLoaded } from '../shared/use-loaded.js';
import { useResult } from '../shared/use-result.js';

/** Files that are listed before somebody looks for one. */
const MOST_FILES = 500;
const MOST_PICTURE_BYTES = 10_000_000;

const Viewer = ({ id, file, state }) => {
  const { path, size } = file;
  const asPicture = isPicture(path) && size <= MOST_PICTURE_BYTES;
  const address = filePath(id, path);
  const { data, error } = useResult(
    asPicture ? undefined : id + '/' + path,
    (signal) => readText(address, signal),
    state,
  );
  return html`<article aria-labelledby="ko-file">
    <h3 id="ko-file">${path}</h3>
    <p>${sizeOf(size)} · <a href=${base + address} download=${path.split('/').at(-1)}>Download</a></p>
    <${Problem} error=${error} />
    ${asPicture && html`<img class="ko-picture" src=${base + address} alt=${'Picture ' + path} />`}
    ${data !== undefined && data.text === undefined && html`<p>This is no text: it can be downloaded.</p>`}
    ${
      data?.text !== undefined &&
      html`
        ${data.isCut && html`<p class="ko-note">Only the first ${sizeOf(MOST_BYTES)} are shown.</p>`}
        <${Numbered} text=${data.text} label=${'Content of ' + path} />
      `
    }
  </article>`;
};

export const Files = ({ id, ko, rest }) => {
  const { data, error } = useLoaded('doc/files/' + pathOf(id), ko?.digest);
  const [filter, setFilter] = useState('');
  const wanted = filter.trim().toLowerCase();
  const found = (data ?? []).filter(({ path }) => path.toLowerCase().includes(wanted));
  const open = data?.find(({ path }) => path === rest);
  return html`
    <h2>Files</h2>
    <${Problem} error=${error} />
    ${
      data?.length > 20 &&
      html`<label
        >Find a file <input type="search" value=${filter} onInput=${(event) => setFilter(event.currentTarget.value)} />
      </label>`
    }
    <ul class="ko-files" aria-label=${'Files of ' + id}>
      ${found.slice(0, MOST_FILES).map(
        ({ path, size }) =>
          html`<li key=${path}>
            <a href=${hrefOf(id, 'files', path)} aria-current=${path === rest ? 'true' : undefined}>${path}</a>
            <span class="quiet">${sizeOf(size)}</span>
          </li>`,
      )}
    </ul>
    ${found.length > MOST_FILES && html`<p>${countOf(found.length - MOST_FILES, 'more file')}: look for one by its name.</p>`}
    ${rest !== '' && data !== undefined && open === undefined && html`<p class="problem" role="alert">There is no file ${rest}.</p>`}
    ${open !== undefined && html`<${Viewer} key=${rest} id=${id} file=${open} state=${ko?.digest} />`}
  `;
};
