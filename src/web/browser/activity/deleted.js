// What was deleted or replaced and is kept, and how it comes back.
import { send } from '../shared/api.js';
import { useServiceState } from '../shared/events.js';
import { html, useState } from '../shared/html.js';
import { Digest, Empty, hrefOf, KoLink, Problem, Table, Time, Waiting } from '../shared/parts.js';
import { presentOf, restore } from '../shared/restore.js';
import { useAction, useResult } from '../shared/use-result.js';
import { useMay } from '../shared/who.js';

const LIMIT = 25;

const nextIn = (link) => {
  const [, address] = /^<([^<>]*)>; rel="next"$/.exec(link ?? '') ?? [];
  return address === undefined ? undefined : new URL(address, location.href).searchParams.get('after');
};

const Restore = ({ entry: { ko, digest }, onDone }) => {
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
  return html`
    <button class="plain" disabled=${state.doing !== undefined} onClick=${bringBack} aria-label=${'Restore ' + ko}>
      ${present === undefined ? 'Restore' : 'Restore and replace'}
    </button>
    ${present && html`<p role="status">It replaces <${Digest} of=${present.digest} />, which is there now.</p>`}
    <${Problem} error=${state.error} />
  `;
};

export const Deleted = () => {
  const [places, setPlaces] = useState([undefined]);
  const [done, setDone] = useState();
  const catalogue = useServiceState()?.catalogue;
  const mayWrite = useMay('shelf-write');
  const after = places.at(-1);
  const read = async (signal) => {
    const query = new URLSearchParams({ limit: String(LIMIT), ...(after && { after }) });
    const response = await send('GET', 'actuator/removed?' + query, { signal });
    return { entries: await response.json(), next: nextIn(response.headers.get('link')) };
  };
  const found = useResult(String(after), read, catalogue);
  const { data } = found;
  const onDone = (ko) => {
    setDone(ko);
    found.reload();
  };
  return html`
    <h1>Deleted or replaced</h1>
    <p class="lead">What goes from the shelf is kept for a while. Restore puts it back and activates it.</p>
    <${Waiting} of=${found} />
    <p role="status">${done && html`<a href=${hrefOf(done)}>${done}</a> is on the shelf again and activated.`}</p>
    ${data?.entries.length === 0 && html`<${Empty}>Nothing that was deleted or replaced is kept.<//>`}
    ${
      data?.entries.length > 0 &&
      html`<${Table}
        caption="Deleted or replaced, the latest first"
        isHidden
        heads=${['Knowledge object', 'Package', 'What', 'By', 'When', 'Action']}
        rows=${data.entries.map((entry) => ({
          key: entry.ko + entry.removed,
          cells: [
            html`<${KoLink} id=${entry.ko} />`,
            html`<${Digest} of=${entry.digest} />`,
            entry.why,
            entry.by ?? '–',
            html`<${Time} at=${entry.removed} />`,
            mayWrite && html`<${Restore} entry=${entry} onDone=${onDone} />`,
          ],
        }))}
      />`
    }
    ${
      (places.length > 1 || data?.next) &&
      html`<nav class="row" aria-label="Pages of what was deleted or replaced">
        <button class="plain" disabled=${places.length === 1} onClick=${() => setPlaces(places.slice(0, -1))}>
          Previous
        </button>
        <button class="plain" disabled=${!data?.next} onClick=${() => setPlaces([...places, data.next])}>Next</button>
      </nav>`
    }
  `;
};
