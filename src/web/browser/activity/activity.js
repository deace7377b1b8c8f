// Who changed what, as it happens, and which calls fail.
import { get } from '../shared/api.js';
import { Failures } from '../shared/failures.js';
import { useConnection, useEvents } from '../shared/events.js';
import { html, useEffect, useState } from '../shared/html.js';
import { countOf, Digest, Empty, KoLink, Problem, Table, Time } from '../shared/parts.js';

/** Records that are shown. */
const MOST = 200;
const FIRST = 100;

const merge = (records, more) => {
  const all = new Map([...records, ...more].map((each) => [each.id, each]));
  return [...all.values()].sort((a, b) => b.id - a.id).slice(0, MOST);
};

const useAudit = () => {
  const [state, setState] = useState({ records: [], isRead: false, error: undefined });
  const connection = useConnection();
  useEvents('audit', ({ record }) => setState((before) => ({ ...before, records: merge(before.records, [record]) })));
  // What was missed while there was no connection is read.
  useEffect(() => {
    get('actuator/audit?limit=' + FIRST).then(
      (found) => setState((before) => ({ records: merge(before.records, found), isRead: true, error: undefined })),
      (error) => setState((before) => ({ ...before, error })),
    );
  }, [connection?.up]);
  return state;
};

const OUTCOMES = { done: 'good', partly: 'wait', failed: 'bad', refused: 'bad' };
const ID = /^[\w.]+\/[\w.]+\/[\w.]+$/;

/** What became of it, and why not. */
const Outcome = ({ record: { outcome, reason, notActive, requestId } }) =>
  html`<span data-kind=${OUTCOMES[outcome]}>${outcome}</span>
    ${(reason ?? notActive) && html`<span>${reason ?? 'not active: ' + notActive}</span>`}
    ${outcome !== 'done' && requestId && html`<span class="quiet">request ${requestId}</span>`}`;

export function Activity() {
  const { records, isRead, error } = useAudit();
  const [text, setText] = useState('');
  const shown = records.filter((each) => matches(each, text));
  return html`
    <h1>Activity</h1>
    <p class="lead">
      Who changed what, as it happens. <a href="#/deleted">What was deleted or replaced</a> can be restored.
    </p>
    <h2>Changes</h2>
    <label class="choice">
      Filter
      <input
        type="search"
        autocomplete="off"
        placeholder="a name, an id, an action, an outcome"
        value=${text}
        onInput=${({ target }) => setText(target.value)}
      />
    </label>
    <${Problem} error=${error} />
    <p class="quiet" role="status">
      ${isRead ? (shown.length < records.length ? shown.length + ' of ' : '') + countOf(records.length, 'change') + ', the latest first' : error ? '' : 'Loading…'}
    </p>
    ${isRead && records.length === 0 && html`<${Empty}>Nothing was changed yet.<//>`}
    ${
      shown.length > 0 &&
      html`<${Table}
        caption="Changes, the latest first"
        isHidden
        heads=${['When', 'Who', 'What', 'Of', 'Outcome']}
        rows=${shown.map((each) => ({
          key: String(each.id),
          cells: [
            html`<${Time} at=${each.time} />`,
            html`${each.who} <span class="quiet">${each.remoteAddress}</span>`,
            html`${each.action}${each.times > 1 && html` <span class="quiet">${each.times} times</span>`}`,
            html`${ID.test(each.subject) ? html`<${KoLink} id=${each.subject} />` : each.subject}
            ${each.digest && html`${' '}<${Digest} of=${each.digest} />`}`,
            html`<${Outcome} record=${each} />`,
          ],
        }))}
      />`
    }
    <h2>Failed calls</h2>
    <${Failures} />
  `;
}

const matches = ({ who, action, subject, outcome, remoteAddress }, text) =>
  [who, action, subject, outcome, remoteAddress].join(' ').toLowerCase().includes(text.trim().toLowerCase());
