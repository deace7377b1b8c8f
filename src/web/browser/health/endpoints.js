// The endpoints that were called, so that the slow and the failing ones are seen at once.
import { html, useState } from '../shared/html.js';
import { duration, KoLink, rate, Table } from '../shared/parts.js';

const MOST = 15;

/** By what the rows can be ordered: the first of each is the one to look at. */
const ORDERS = {
  calls: { words: 'most calls', of: ({ calls }) => calls },
  failed: { words: 'most failures', of: ({ failed }) => failed },
  p95: { words: 'slowest (p95)', of: ({ p95 }) => p95 ?? 0 },
  perSecond: { words: 'busiest now', of: ({ perSecond }) => perSecond },
};

const numberOf = (n, kind) => html`<span data-kind=${n > 0 ? kind : undefined}>${n.toLocaleString('en')}</span>`;

/** `isOfOne`: all are of one knowledge object. */
export function CalledEndpoints({ kos, isOfOne = false }) {
  const [order, setOrder] = useState('calls');
  if (kos.length === 0) return null;
  const { of, words } = ORDERS[order];
  const rows = kos.toSorted((a, b) => of(b) - of(a)).slice(0, MOST);
  return html`
    ${
      kos.length > 1 &&
      html`<label class="choice">
        Order
        <select value=${order} onChange=${({ target }) => setOrder(target.value)}>
          ${Object.entries(ORDERS).map(([name, each]) => html`<option value=${name}>${each.words}</option>`)}
        </select>
      </label>`
    }
    <${Table}
      caption=${'Endpoints that were called' + (kos.length > 1 ? ', ' + words + ' first' : '')}
      heads=${['Endpoint', 'Engine', 'Calls', 'Failed', 'Now, a second', 'p50', 'p95', 'p99']}
      numbers=${[2, 3, 4, 5, 6, 7]}
      rows=${rows.map((each) => ({
        key: each.ko + ' ' + each.endpoint,
        cells: [
          each.ko === 'other'
            ? 'others together'
            : html`${!isOfOne && html`<${KoLink} id=${each.ko} />`} <code>${each.endpoint}</code>`,
          each.engine,
          numberOf(each.calls),
          numberOf(each.failed, 'bad'),
          rate(each.perSecond),
          duration(each.p50),
          duration(each.p95),
          duration(each.p99),
        ],
      }))}
    />
    ${kos.length > MOST && html`<p class="quiet">${MOST} of ${kos.length} endpoints that were called.</p>`}
  `;
}
