// What one does with a knowledge object: activate, export, delete.
import { pathOf, send } from '../shared/api.js';
import { html, useLayoutEffect, useRef, useState } from '../shared/html.js';
import { exportKo } from './export-package.js';
import { offerUndo } from './undo.js';
import { Problem } from '../shared/parts.js';
import { useAction } from '../shared/use-result.js';

/** In the page, so that it can say what goes. */
const Confirm = ({ id, title, onAnswer }) => {
  const place = useRef(null);
  useLayoutEffect(() => place.current.showModal(), []);
  return html`<dialog
    ref=${place}
    aria-labelledby="ko-confirm"
    onClose=${() => onAnswer(place.current.returnValue === 'delete')}
  >
    <h2 id="ko-confirm">Delete ${id}?</h2>
    <p>
      “${title}” goes from the shelf. What is active can be called until the next refresh. It is kept for a while and
      can be brought back.
    </p>
    <button class="danger" onClick=${() => place.current.close('delete')}>Delete ${id}</button>
    <button class="plain" onClick=${() => place.current.close()}>Cancel</button>
  </dialog>`;
};

const inWords = (error) =>
  error.status === 412
    ? Object.assign(
        new Error('Somebody changed it since you looked, so nothing was done. What you see now is the new state.'),
        { requestId: error.requestId },
      )
    : error;

export function Actions({ id, title, ko, endpoints, onChange }) {
  const [state, act] = useAction();
  const [isAsking, setAsking] = useState(false);
  const deleteButton = useRef(null);
  const status = useRef(null);
  const run = (doing, action) => () => act(doing, action).then(onChange);
  const activate = async () => {
    await send('POST', 'actuator/activation/reload/' + pathOf(id));
    return 'It was read from the shelf and activated.';
  };
  const remove = async () => {
    const response = await send('DELETE', 'kos/' + pathOf(id), { headers: { 'if-match': ko.etag } });
    offerUndo({ ko: id, digest: ko.digest, wasActive: response.headers.get('kgrid-still-active') === 'true' });
    return 'It was deleted.';
  };
  const onAnswer = (isSure) => {
    setAsking(false);
    if (!isSure) return deleteButton.current.focus();
    // The button cannot be pressed meanwhile, nor afterwards.
    status.current.focus();
    void run('Deleting…', remove)();
  };
  const isBusy = state.doing !== undefined;
  const isOnShelf = ko !== undefined;
  const word = endpoints.length > 0 ? 'Reload' : 'Activate';
  return html`
    <div class="ko-actions">
      <button disabled=${isBusy} onClick=${run('Activating…', activate)}>${word}</button>
      <button
        class="plain"
        disabled=${isBusy || !isOnShelf}
        onClick=${run('Exporting…', async () => {
          await exportKo(id);
          return 'The package was saved.';
        })}
      >
        Export
      </button>
      <button class="plain" disabled=${isBusy || !isOnShelf} ref=${deleteButton} onClick=${() => setAsking(true)}>
        Delete…
      </button>
    </div>
    <p role="status" tabindex="-1" ref=${status}>${state.doing ?? state.done ?? ''}</p>
    <${Problem} error=${state.error && inWords(state.error)} />
    ${isAsking && html`<${Confirm} id=${id} title=${title} onAnswer=${onAnswer} />`}
  `;
}
