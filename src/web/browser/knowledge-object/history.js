// Every package that this version had: who put it there and when, what differs between two of them, and the way back.
import { get } from '../shared/api.js';
import { html, useState } from '../shared/html.js';
import { Digest, Empty, Problem, Table, Time, Waiting } from '../shared/parts.js';
import { kept, onShelf } from '../shared/packages.js';
import { restore } from '../shared/restore.js';
import { useAction, useResult } from '../shared/use-result.js';
import { Compared } from './differences.js';

const MOST_RECORDS = 500;
/** Of the audit: what puts a package on the shelf, or takes it away. */
const WORDS = { import: 'imported', restore: 'restored', delete: 'deleted', 'replace metadata': 'metadata changed' };
const CHANGES = /^(?:import|restore|delete|replace)/;

/** The digest that a record tells for this version. */
const digestIn = ({ digest, digests = '', Replaced = '' }, id) => {
  const of = digests.split(', ').find((each) => each.startsWith(id + ' '));
  const hex = digest ?? of?.split(' ')[1] ?? /, sha256:([0-9a-f]{64})$/.exec(Replaced)?.[1];
  return hex === undefined ? undefined : 'sha256:' + hex.replace('sha256:', '');
};

async function read(id, present, signal) {
  const query = new URLSearchParams({ ko: id });
  const [records, removed] = await Promise.all([
    // A shelf that can only be read keeps no audit.
    get('actuator/audit?' + query + '&limit=' + MOST_RECORDS, { signal }).catch((error) =>
      error.status === 404 ? [] : Promise.reject(error),
    ),
    get('actuator/removed?' + query + '&limit=100', { signal }),
  ]);
  const can = new Set(removed.map(({ digest }) => digest));
  const events = records
    .filter(({ action, outcome }) => outcome === 'done' && CHANGES.test(action))
    .map((record) => ({
      time: record.time,
      who: record.who,
      what: WORDS[record.action] ?? record.action,
      digest: digestIn(record, id),
    }))
    .filter(({ digest }) => digest !== undefined);
  const told = new Set(events.map(({ digest }) => digest));
  const others = removed
    .filter(({ digest }) => !told.has(digest))
    .map(({ digest, removed: time, why, by }) => ({ time, who: by ?? '', what: why, digest }));
  const first =
    present === undefined || told.has(present)
      ? []
      : [{ time: undefined, who: '', what: 'on the shelf', digest: present }];
  return [...first, ...[...events, ...others].sort((a, b) => (a.time < b.time ? 1 : -1))].map((each) => ({
    ...each,
    isPresent: each.digest === present,
    isKept: can.has(each.digest),
  }));
}

const RollBack = ({ id, digest, etag, onDone }) => {
  const [state, run] = useAction();
  const act = async () => {
    const isDone = await run('Rolling back…', async () => {
      await restore(id, digest, etag);
      return true;
    });
    if (isDone) onDone();
  };
  return html`<button
      class="plain"
      disabled=${state.doing !== undefined}
      onClick=${act}
      aria-label=${'Roll back to ' + digest.slice(7, 19)}
    >
      Roll back
    </button>
    <${Problem} error=${state.error} />`;
};

export const History = ({ id, about, may }) => {
  const present = about.shelf?.digest;
  const found = useResult(id, (signal) => read(id, present, signal), present);
  const { data } = found;
  const [chosen, setChosen] = useState({ from: '', to: '' });
  if (data === undefined) return html`<${Waiting} of=${found} />`;
  if (data.length === 0) return html`<${Empty}>Nothing is known of earlier packages.<//>`;
  const readable = [
    ...new Map(data.filter(({ isPresent, isKept }) => isPresent || isKept).map((each) => [each.digest, each])).values(),
  ];
  const sourceOf = (digest) => (digest === present ? onShelf(id, 'the one on the shelf') : kept(id, digest));
  const from = chosen.from || (readable.find(({ isPresent }) => !isPresent)?.digest ?? '');
  const to = chosen.to || (readable.find(({ isPresent }) => isPresent) ?? readable[0])?.digest || '';
  const choice = (label, name, value) =>
    html`<label
      >${label}
      <select value=${value} onChange=${({ target }) => setChosen({ from, to, [name]: target.value })}>
        ${readable.map(
          ({ digest, isPresent }) =>
            html`<option value=${digest}>${digest.slice(7, 19)}${isPresent ? ' (on the shelf)' : ''}</option>`,
        )}
      </select>
    </label>`;
  return html`
    <${Table}
      caption="Packages of this version, the latest first"
      heads=${['Package', 'What', 'Who', 'When', 'Action']}
      rows=${data.map(({ digest, what, who, time, isPresent, isKept }, i) => ({
        key: digest + time,
        cells: [
          html`<${Digest} of=${digest} />`,
          what,
          who || '–',
          time ? html`<${Time} at=${time} />` : '–',
          isPresent && i === data.findIndex((each) => each.isPresent)
            ? html`<span class="quiet">on the shelf${about.runs.includes(digest) && ', runs'}</span>`
            : isKept && !isPresent
              ? may.includes('shelf-write') &&
                html`<${RollBack} id=${id} digest=${digest} etag=${about.shelf?.etag} onDone=${found.reload} />`
              : html`<span class="quiet">${isPresent ? '' : 'not kept any more'}</span>`,
        ],
      }))}
    />
    ${
      readable.length > 1
        ? html`<h2>Compare</h2>
            <div class="row">${choice('From', 'from', from)} ${choice('to', 'to', to)}</div>
            ${from === to ? html`<p>These are the same package.</p>` : html`<${Compared} key=${from + to} from=${sourceOf(from)} to=${sourceOf(to)} />`}`
        : html`<p class="quiet">There is no other package of it to compare.</p>`
    }
  `;
};
