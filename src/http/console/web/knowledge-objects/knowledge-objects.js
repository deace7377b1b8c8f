// Finds knowledge objects on the shelf, part by part, and shows how each of them is.
import { useServiceState } from '../shared/events.js';
import { useTicks } from '../shared/history.js';
import { html, useEffect, useRef, useState } from '../shared/html.js';
import { endpointsOf, placed, readPage } from '../shared/knowledge-object-data.js';
import { KoItems } from './items.js';
import { Removed } from './removed.js';
import { countOf, Problem } from '../shared/parts.js';
import { useLoaded } from '../shared/use-loaded.js';
import { useResult } from '../shared/use-result.js';

const TYPING = 300;
const MOST_SERIES = 200;

const askedIn = () => new URLSearchParams(location.hash.split('?')[1] ?? '').get('q') ?? '';

const Page = ({ q, after, onNext, again, calls }) => {
  const read = async (signal) => {
    const { entries, next } = await readPage('kos', { q, after }, signal);
    const kos = await placed(entries);
    const ids = kos.map(({ id }) => id);
    return { kos, next, endpoints: await endpointsOf(ids, q === '', signal) };
  };
  const { data, error } = useResult(JSON.stringify([q, after]), read, again);
  useEffect(() => onNext(data?.next), [data?.next]);
  if (data === undefined) return error ? html`<${Problem} error=${error} />` : html`<p>Loading…</p>`;
  return html`
    <${Problem} error=${error} />
    ${data.kos.length === 0 && html`<p>${q === '' ? 'The shelf is empty.' : 'Nothing is found by this.'}</p>`}
    <${KoItems} ...${data} calls=${calls} />
  `;
};

/** Calls and failures of the last hour, by place. */
function useCalls() {
  const { data } = useLoaded('actuator/history', useTicks(30_000));
  if (data === undefined) return undefined;
  const byKo = new Map();
  for (const { ko, calls, failed } of data.kos) {
    const sum = byKo.get(ko) ?? { calls: 0, failed: 0 };
    byKo.set(ko, { calls: sum.calls + calls, failed: sum.failed + failed });
  }
  return { byKo, isAll: data.kos.length < MOST_SERIES };
}

export const KnowledgeObjects = () => {
  const [q, setQ] = useState(askedIn);
  /** Where the pages up to this one begin. */
  const [places, setPlaces] = useState([undefined]);
  const [next, setNext] = useState(undefined);
  const timer = useRef(undefined);
  const state = useServiceState();
  const calls = useCalls();
  const search = (text) => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      history.replaceState(null, '', '#/kos' + (text === '' ? '' : '?' + new URLSearchParams({ q: text })));
      setPlaces([undefined]);
      setQ(text);
    }, TYPING);
  };
  useEffect(() => () => clearTimeout(timer.current), []);
  const isFirst = places.length === 1;
  return html`
    <h1>Knowledge objects</h1>
    <p class="ko-counts">
      ${state === undefined ? '' : countOf(state.kos, 'version') + ' on the shelf. '}<a href="#/add">Add one</a>
    </p>
    <form class="ko-search" role="search" onSubmit=${(event) => event.preventDefault()}>
      <label for="ko-q">Search by title, id, keyword or endpoint</label>
      <input
        id="ko-q"
        type="search"
        maxlength="200"
        value=${q}
        onInput=${(event) => search(event.currentTarget.value.trim())}
      />
    </form>
    <${Page} q=${q} after=${places.at(-1)} onNext=${setNext} again=${state?.catalogue} calls=${calls} />
    <nav class="ko-pages" aria-label="Pages of the list">
      <button class="plain" disabled=${isFirst} onClick=${() => setPlaces(places.slice(0, -1))}>Previous</button>
      <span role="status">${isFirst && !next ? '' : 'Page ' + places.length}</span>
      <button class="plain" disabled=${!next} onClick=${() => setPlaces([...places, next])}>Next</button>
    </nav>
    <${Removed} again=${state?.catalogue} />
  `;
};
