// What the service has, for whoever looks for something: found by words, a page at a time.
import { useServiceState } from '../shared/events.js';
import { html, useEffect, useRef, useState } from '../shared/html.js';
import { countOf, Empty, hrefOf, Pages, State, Waiting, wordOf } from '../shared/parts.js';
import { useLoaded } from '../shared/use-result.js';
import { useMay } from '../shared/who.js';

const TYPING_MS = 250;
const LIMIT = 25;
/** Until it is looked for again whether something that starts has done so. */
const STARTING_MS = 2000;

const Item = ({ ko: { name, title, description, engines, state, shown, versions } }) => html`
  <li>
    <p class="row">
      <a class="item" href=${hrefOf(shown)}>${title}</a>
      <span class="quiet grow">
        <code>${name}</code>
        ${versions
          .toReversed()
          .map(
            ({ version, state: own }) =>
              html` <a class="tag" href=${hrefOf(name + '/' + version)} title=${wordOf(own)}>${version}</a>`,
          )}
        ${engines.length > 0 && html` <small>${engines.join(', ')}</small>`}
      </span>
      <${State} of=${state} />
    </p>
    ${description && html`<p class="brief">${description}</p>`}
  </li>
`;

const Nothing = ({ total, mayAdd }) =>
  total > 0
    ? html`<${Empty}>Nothing is found by this.<//>`
    : html`<${Empty}>
        The shelf is empty.
        ${
          mayAdd
            ? html` <a href="#/add">Add a knowledge object</a>, packed as a zip file.`
            : ' Whoever runs this service logs in to add knowledge objects.'
        }
      <//>`;

/** `query` of the address: what is looked for, so that it can be passed on. */
export const Catalogue = ({ query }) => {
  const [asked, setAsked] = useState(() => Object.fromEntries(new URLSearchParams(query)));
  /** What somebody types, which is asked for a moment later. */
  const [text, setText] = useState(asked.q ?? '');
  const { q = '', state = '', page = '1' } = asked;
  const typed = useRef(undefined);
  const [ticks, setTicks] = useState(0);
  const catalogue = useServiceState()?.catalogue;
  const isOperator = useMay('info');
  const mayAdd = useMay('shelf-write');
  const search = new URLSearchParams({ limit: String(LIMIT), ...(isOperator && { order: 'state' }) });
  for (const [key, value] of Object.entries({ q, state, page })) if (value) search.set(key, value);
  const found = useLoaded('doc/catalogue?' + search, ticks + ' ' + (catalogue ?? ''));
  const { data } = found;
  const ask = (next) => {
    clearTimeout(typed.current);
    const kept = Object.entries(next).filter(([key, value]) => value && !(key === 'page' && value === '1'));
    history.replaceState(null, '', '#/' + (kept.length > 0 ? '?' + new URLSearchParams(kept) : ''));
    setAsked(next);
  };
  const type = ({ target: { value } }) => {
    setText(value);
    clearTimeout(typed.current);
    typed.current = setTimeout(() => ask({ q: value.trim(), state }), TYPING_MS);
  };
  useEffect(() => {
    // What is typed changes the address silently: each other change of it is somebody's wish.
    const follow = () => {
      const next = Object.fromEntries(new URLSearchParams(location.hash.split('?')[1] ?? ''));
      setAsked(next);
      setText(next.q ?? '');
    };
    addEventListener('hashchange', follow);
    return () => {
      clearTimeout(typed.current);
      removeEventListener('hashchange', follow);
    };
  }, []);
  const isStarting = data?.states.starting > 0;
  useEffect(() => {
    const timer = isStarting && setInterval(() => document.hidden || setTicks((before) => before + 1), STARTING_MS);
    return () => clearInterval(timer);
  }, [isStarting]);
  const used = Object.entries(data?.states ?? {}).filter(([name, n]) => n > 0 || name === state);
  return html`
    <h1>Computable knowledge, ready to call</h1>
    <p class="lead">
      A knowledge object is a piece of medical knowledge, such as a risk score or a guideline, that a computer can
      apply. Find one here, try it in its form, and call it from your own program.
    </p>
    <form class="row search" role="search" onSubmit=${(event) => event.preventDefault()}>
      <label class="grow"
        ><span class="unseen">Search by title, id, keyword or endpoint</span>
        <input
          type="search"
          maxlength="200"
          placeholder="Search by title, id, keyword or endpoint"
          value=${text}
          onInput=${type}
      /></label>
      <label
        ><span class="unseen">State</span>
        <select value=${state} onChange=${({ target }) => ask({ q: text.trim(), state: target.value })}>
          <option value="">all states</option>
          ${used.map(([name, n]) => html`<option value=${name}>${wordOf(name)} (${n.toLocaleString('en')})</option>`)}
        </select>
      </label>
      ${mayAdd && html`<a class="button" href="#/add">Add</a>`}
    </form>
    <p class="quiet" role="status">
      ${data && (q || state ? `${data.found.toLocaleString('en')} of ` : '') + countOf(data.total, 'knowledge object')}
    </p>
    <${Waiting} of=${found} />
    ${data?.kos.length === 0 && html`<${Nothing} total=${data.total} mayAdd=${mayAdd} />`}
    <ul class="items" aria-label="Knowledge objects">
      ${data?.kos.map((ko) => html`<${Item} key=${ko.name} ko=${ko} />`)}
    </ul>
    ${
      data &&
      html`<${Pages}
        page=${data.page}
        pages=${data.pages}
        label="Pages of the catalogue"
        onPage=${(next) => ask({ q, state, page: String(next) })}
      />`
    }
  `;
};
