// What was deleted or replaced and is kept, and how it comes back.
import { pathOf, send } from '../shared/api.js';
import { html, useState } from '../shared/html.js';
import { hrefOf, readKo, readPage } from '../shared/knowledge-object-data.js';
import { Problem, Table, Time } from '../shared/parts.js';
import { useAction, useResult } from '../shared/use-result.js';

/** Brings back what was removed. `etag`: of what is there now, so that nothing is replaced that came meanwhile. */
export async function restore(ko, digest, etag) {
  const query = digest === undefined ? '' : '?' + new URLSearchParams({ digest });
  await send('POST', 'kos/' + pathOf(ko) + '/restore' + query, {
    headers: etag === undefined ? {} : { 'if-match': etag },
  });
}

/** `{etag, digest}` of what is on the shelf; undefined where there is nothing. */
export async function presentOf(ko) {
  const asked = new URLSearchParams({ q: '/kos/' + ko, limit: '1' });
  const found = await (await send('GET', 'kos?' + asked)).json();
  return found.length === 0 ? undefined : readKo(ko).catch(() => undefined);
}

const Row = ({ entry: { ko, digest, removed, why, by }, onDone }) => {
  const [state, run] = useAction();
  /** What it would replace, once that was seen. */
  const [present, setPresent] = useState(undefined);
  const bringBack = async () => {
    const isDone = await run('Restoring…', async () => {
      const now = await presentOf(ko);
      const isSeen = now === undefined || now.etag === present?.etag;
      setPresent(now);
      if (isSeen) await restore(ko, digest, now?.etag);
      return isSeen;
    });
    if (isDone) onDone(ko);
  };
  return html`<tr>
    <th scope="row">${ko}</th>
    <td>${why}${by && ' by ' + by}, <${Time} at=${removed} /></td>
    <td><code title=${digest}>${digest.slice(7, 19)}</code></td>
    <td>
      <button class="plain" disabled=${state.doing !== undefined} onClick=${bringBack} aria-label=${'Restore ' + ko}>
        ${present === undefined ? 'Restore' : 'Restore and replace'}
      </button>
      ${present && html`<p role="status">It replaces what is there now, ${present.digest.slice(0, 19)}.</p>`}
      <${Problem} error=${state.error} />
    </td>
  </tr>`;
};

const List = ({ again }) => {
  const [places, setPlaces] = useState([undefined]);
  const [done, setDone] = useState();
  const after = places.at(-1);
  const read = (signal) => readPage('actuator/removed', { after }, signal);
  const { data, error, reload } = useResult(String(after), read, again);
  const onDone = (ko) => {
    setDone(ko);
    reload();
  };
  return html`
    <${Problem} error=${error} />
    <p role="status">
      ${done && html`<a href=${hrefOf(done)}>${done}</a> is on the shelf again, and active after Activate.`}
    </p>
    ${data?.entries.length === 0 && html`<p>Nothing that was deleted or replaced is kept.</p>`}
    ${
      data?.entries.length > 0 &&
      html`<${Table} caption="Deleted or replaced" heads=${['Knowledge object', 'Removed', 'Content', 'Action']}>
        ${data.entries.map((entry) => html`<${Row} key=${entry.ko + entry.removed} entry=${entry} onDone=${onDone} />`)}
      <//>`
    }
    ${
      (places.length > 1 || data?.next) &&
      html`<nav class="ko-pages" aria-label="Pages of what was removed">
        <button class="plain" disabled=${places.length === 1} onClick=${() => setPlaces(places.slice(0, -1))}>
          Previous
        </button>
        <button class="plain" disabled=${!data?.next} onClick=${() => setPlaces([...places, data.next])}>Next</button>
      </nav>`
    }
  `;
};

/** Read when somebody opens it, since it needs a login. */
export const Removed = ({ again }) => {
  const [isOpen, setOpen] = useState(false);
  return html`<details onToggle=${(event) => setOpen(event.currentTarget.open)}>
    <summary>Deleted or replaced</summary>
    ${isOpen && html`<${List} again=${again} />`}
  </details>`;
};
