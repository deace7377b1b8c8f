// Who changed what, as it happens, and which calls fail.
import { get } from '../shared/api.js';
import { Failures } from '../shared/failures.js';
import { useConnection, useEvents } from '../shared/events.js';
import { html, useEffect, useState } from '../shared/html.js';
import { countOf, Problem, Table, Time } from '../shared/parts.js';

/** Records that are shown. */
const MOST = 200;
const FIRST = 100;

const merge = (records, more) => {
  const all = new Map([...records, ...more].map((each) => [each.id, each]));
  return [...all.values()].sort((a, b) => b.id - a.id).slice(0, MOST);
};

const useAudit = () => {
  const [records, setRecords] = useState([]);
  const [error, setError] = useState();
  const connection = useConnection();
  useEvents('audit', ({ record }) => setRecords((before) => merge(before, [record])));
  // What was missed while there was no connection is read.
  useEffect(() => {
    if (connection?.up !== true) return;
    get('actuator/audit?limit=' + FIRST).then(
      (found) => (setRecords((before) => merge(before, found)), setError(undefined)),
      setError,
    );
  }, [connection?.up]);
  return { records, error };
};

const OUTCOMES = { done: 'good', failed: 'bad', refused: 'wait' };

export function Activity() {
  const { records, error } = useAudit();
  const [text, setText] = useState('');
  const shown = records.filter((each) => matches(each, text));
  return html`
    <h1>Activity</h1>
    <section aria-labelledby="changes-title">
      <h2 id="changes-title">Changes</h2>
      <label>
        Show only what has
        <input type="search" autocomplete="off" value=${text} onInput=${({ target }) => setText(target.value)} />
      </label>
      <${Problem} error=${error} />
      <p class="quiet" role="status">
        ${shown.length < records.length && shown.length + ' of '}${countOf(records.length, 'change')}, the latest first;
        all are in <code>GET /actuator/audit</code>.
      </p>
      ${
        shown.length > 0 &&
        html`<${Table} caption="Who changed what" heads=${['When', 'Who', 'What', 'Of', 'Outcome']}>
          ${shown.map(
            (each) =>
              html`<tr key=${each.id}>
                <td><${Time} at=${each.time} /></td>
                <td>${each.who} <span class="quiet">${each.remoteAddress}</span></td>
                <td>${each.action}${each.times > 1 && html` <span class="quiet">${each.times} times</span>`}</td>
                <td>
                  ${each.subject}${each.digest && html` <code class="quiet">sha256:${each.digest.slice(0, 12)}…</code>`}
                </td>
                <td data-kind=${OUTCOMES[each.outcome]}>${each.outcome}</td>
              </tr>`,
          )}
        <//>`
      }
    </section>
    <section aria-labelledby="failures-title">
      <h2 id="failures-title">Failed calls</h2>
      <${Failures} />
    </section>
  `;
}

const matches = ({ who, action, subject, outcome, remoteAddress }, text) =>
  [who, action, subject, outcome, remoteAddress].join(' ').toLowerCase().includes(text.trim().toLowerCase());
