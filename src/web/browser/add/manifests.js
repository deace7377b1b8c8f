// Imports what manifests name, with what becomes of each entry as it goes.
import { activate, send } from '../shared/api.js';
import { useEvents } from '../shared/events.js';
import { html, useRef, useState } from '../shared/html.js';
import { countOf, hrefOf, Problem, Table } from '../shared/parts.js';
import { useAction } from '../shared/use-result.js';

const MOST_ENTRIES = 500;

/** Of no value beyond this page; a page that came without TLS has no other random names. */
const newRequestId = () =>
  'console-' +
  [...crypto.getRandomValues(new Uint8Array(12))].map((byte) => byte.toString(16).padStart(2, '0')).join('');

/** What is posted: JSON as it is, else addresses, one a line. @throws where it is neither. */
function requestOf(text, isList) {
  const trimmed = text.trim();
  if (/^[[{]/.test(trimmed)) return { path: isList ? 'kos/manifest-list' : 'kos/manifest', body: trimmed };
  const lines = trimmed.split(/\s+/).filter((line) => line !== '');
  if (lines.length === 0) throw new Error('Write a manifest, or addresses, one a line.');
  return { path: isList ? 'kos/manifest-list' : 'kos/manifest', body: JSON.stringify(lines) };
}

/** Ids that were imported, and why others were not. */
async function importBy(text, isList, requestId) {
  const { path, body } = requestOf(text, isList);
  const headers = {
    'content-type': 'application/json',
    accept: 'application/problem+json, application/json;q=0.5',
    'x-request-id': requestId,
  };
  try {
    const answer = await (await send('POST', path, { headers, body })).json();
    return Array.isArray(answer) ? { imported: answer, errors: [] } : answer;
  } catch (error) {
    if (error.body?.errors !== undefined) return { ...error.body, requestId };
    throw error;
  }
}

const outcomeOf = (done, failed) =>
  countOf(done, 'knowledge object was', 'knowledge objects were') +
  ' imported, ' +
  countOf(failed, 'entry was', 'entries were') +
  ' not.';

const Result = ({ imported, errors, more, requestId }) => html`
  <p role="status">${outcomeOf(imported.length, errors.length + (more ?? 0))}</p>
  ${
    errors.length > 0 &&
    html`<${Table}
      caption="Not imported"
      heads=${['Place', 'Why']}
      rows=${errors.map(({ location: place, detail }) => ({ cells: [place, html`<span data-kind="bad">${detail}</span>`] }))}
    />`
  }
  ${more > 0 && html`<p class="note">The log has ${countOf(more, 'more reason')}, under the request ${requestId}.</p>`}
  ${
    imported.length > 0 &&
    html`<ul class="files" aria-label="Imported">
      ${imported.slice(0, MOST_ENTRIES).map((id) => {
        const ko = id.replace(/\/$/, '');
        return html`<li><a href=${hrefOf(ko)}>${ko}</a></li>`;
      })}
    </ul>`
  }
`;

const Activate = ({ imported }) => {
  const [state, run] = useAction();
  const activateAll = () =>
    run('Activating…', async () => {
      let done = 0;
      for (const id of imported) {
        await activate(id.replace(/\/$/, ''));
        done++;
      }
      return countOf(done, 'knowledge object was', 'knowledge objects were') + ' activated.';
    });
  return html`
    <button disabled=${state.doing !== undefined} onClick=${activateAll}>Activate what was imported</button>
    <p role="status">${state.doing ?? state.done ?? ''}</p>
    <${Problem} error=${state.error} />
  `;
};

export const Manifest = () => {
  const [text, setText] = useState('');
  const [isList, setList] = useState(false);
  const [progress, setProgress] = useState(undefined);
  const [state, run] = useAction();
  const requestId = useRef('');
  useEvents('import', (event) => event.requestId === requestId.current && setProgress(event));
  const submit = (event) => {
    event.preventDefault();
    setProgress(undefined);
    requestId.current = newRequestId();
    void run('Importing…', () => importBy(text, isList, requestId.current));
  };
  const isBusy = state.doing !== undefined;
  return html`
    <form onSubmit=${submit}>
      <label for="add-manifest-text">A manifest as JSON, or addresses, one a line</label>
      <textarea
        id="add-manifest-text"
        rows="6"
        spellcheck="false"
        value=${text}
        onInput=${(event) => setText(event.currentTarget.value)}
      ></textarea>
      <label class="tick">
        <input type="checkbox" checked=${isList} onChange=${(event) => setList(event.currentTarget.checked)} />
        The addresses are those of manifests, not of knowledge objects
      </label>
      <div class="row">
        <button type="submit" disabled=${isBusy}>Import</button>
        <p role="status">${isBusy ? (progress ? `${progress.done} of ${progress.total}` : state.doing) : ''}</p>
      </div>
      ${isBusy && progress && html`<progress max=${progress.total} value=${progress.done} aria-label="Entries done"></progress>`}
      ${isBusy && progress?.location && html`<p class="quiet">${progress.location} ${progress.error ?? ''}</p>`}
    </form>
    <${Problem} error=${state.error} />
    ${state.done && html`<${Result} ...${state.done} />`}
    ${state.done?.imported.length > 0 && html`<${Activate} imported=${state.done.imported} />`}
  `;
};
