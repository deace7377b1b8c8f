// What one does with a knowledge object: reload, export, delete.
import { activate, pathOf, send } from '../shared/api.js';
import { html, useLayoutEffect, useRef, useState } from '../shared/html.js';
import { Problem } from '../shared/parts.js';
import { useAction } from '../shared/use-result.js';
import { exportKo } from './export-package.js';
import { offerUndo } from './undo.js';

/** One action with what comes of it. */
export const DoIt = ({ words, act, onChange, isPlain = false }) => {
  const [state, run] = useAction();
  return html`
    <p class="row">
      <button
        class=${isPlain ? 'plain' : ''}
        disabled=${state.doing !== undefined}
        onClick=${() => run('…', act).then(onChange)}
      >
        ${words}
      </button>
      <span role="status">${state.doing ?? ''}</span>
    </p>
    <${Problem} error=${state.error} />
  `;
};

/** In the page, so that it can say what goes; it opens with the focus on what does nothing. */
const Confirm = ({ id, title, runs, onAnswer }) => {
  const place = useRef(null);
  const cancel = useRef(null);
  useLayoutEffect(() => {
    place.current.showModal();
    cancel.current.focus();
  }, []);
  const answer = (value) => () => place.current.close(value);
  return html`<dialog ref=${place} aria-labelledby="ko-confirm" onClose=${() => onAnswer(place.current.returnValue)}>
    <h2 id="ko-confirm">Delete ${id}?</h2>
    <p>
      “${title}” goes from the shelf${runs ? ', and calls of it are answered no more' : ''}. It is kept for a while and
      can be brought back.
    </p>
    <div class="row">
      <button class="plain" ref=${cancel} onClick=${answer('')}>Cancel</button>
      <button class="danger" onClick=${answer('stop')}>Delete</button>
      ${runs && html`<button class="plain bad" onClick=${answer('keep')}>Delete, but let calls go on until the next refresh</button>`}
    </div>
  </dialog>`;
};

const inWords = (error) =>
  error?.status === 412
    ? Object.assign(
        new Error('Somebody changed it since you looked, so nothing was done. What you see now is the new state.'),
        {
          requestId: error.requestId,
        },
      )
    : error;

export function Actions({ about, may, onChange }) {
  const { id, title = id, shelf, runs } = about;
  const [state, act] = useAction();
  const [isAsking, setAsking] = useState(false);
  const deleteButton = useRef(null);
  const status = useRef(null);
  const run = (doing, action) => act(doing, action).then(onChange);
  const remove = async (stops) => {
    await send('DELETE', 'kos/' + pathOf(id), { headers: { 'if-match': shelf.etag } });
    const isRunning = runs.length > 0 && !stops;
    offerUndo({ ko: id, digest: shelf.digest, isRunning });
    if (stops && runs.length > 0) await send('POST', 'actuator/activation/refresh/' + pathOf(id));
    return isRunning ? 'It was deleted, and calls go on until the next refresh.' : 'It was deleted.';
  };
  const onAnswer = (answer) => {
    setAsking(false);
    if (answer === '') return deleteButton.current.focus();
    // The button cannot be pressed meanwhile, nor afterwards.
    status.current.focus();
    void run('Deleting…', () => remove(answer === 'stop'));
  };
  if (shelf === undefined) return null;
  const isBusy = state.doing !== undefined;
  const reload = async () => {
    await activate(id);
    return 'It was read from the shelf and activated again.';
  };
  const save = async () => {
    await exportKo(id);
    return 'The package was saved.';
  };
  return html`
    <div class="actions">
      <div class="row">
        ${may.includes('activation') && runs.length > 0 && html`<button class="plain" disabled=${isBusy} onClick=${() => run('Activating…', reload)}>Reload</button>`}
        ${may.includes('shelf-write') && html`<button class="plain" disabled=${isBusy} onClick=${() => run('Exporting…', save)}>Export</button>`}
        ${
          may.includes('shelf-write') &&
          html`<button class="plain bad" disabled=${isBusy} ref=${deleteButton} onClick=${() => setAsking(true)}>
            Delete…
          </button>`
        }
      </div>
      <p class="said" role="status" tabindex="-1" ref=${status}>${state.doing ?? state.done ?? ''}</p>
      <${Problem} error=${inWords(state.error)} />
      ${isAsking && html`<${Confirm} id=${id} title=${title} runs=${runs.length > 0} onAnswer=${onAnswer} />`}
    </div>
  `;
}
