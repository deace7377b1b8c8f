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

export function CalledEndpoints({ history, chosen, onChoose }) {
  const [order, setOrder] = useState('calls');
  if (history === undefined || history.kos.length === 0) return null;
  const { of } = ORDERS[order];
  const rows = history.kos.toSorted((a, b) => of(b) - of(a)).slice(0, MOST);
  return html`
    <label class="order">
      Order
      <select value=${order} onChange=${({ target }) => setOrder(target.value)}>
        ${Object.entries(ORDERS).map(([name, { words }]) => html`<option value=${name}>${words}</option>`)}
      </select>
    </label>
    <${Table}
      caption=${'Endpoints by ' + ORDERS[order].words}
      heads=${['Endpoint', 'Engine', 'Calls', 'Failed', 'Now, a second', 'p50', 'p95', 'p99', 'Charts']}
    >
      ${rows.map(
        (each) =>
          html`<tr key=${each.ko + ' ' + each.endpoint}>
            <th scope="row">
              ${each.ko === 'other' ? 'others together' : html`<${KoLink} id=${each.ko} />`} ${' '}<code
                >${each.endpoint}</code
              >
            </th>
            <td>${each.engine}</td>
            <td class="number">${each.calls.toLocaleString('en')}</td>
            <td class="number" data-kind=${each.failed > 0 ? 'bad' : undefined}>${each.failed.toLocaleString('en')}</td>
            <td class="number">${rate(each.perSecond)}</td>
            <td class="number">${duration(each.p50)}</td>
            <td class="number">${duration(each.p95)}</td>
            <td class="number">${duration(each.p99)}</td>
            <td>
              ${
                each.ko !== 'other' &&
                html`<button
                  class="plain"
                  aria-pressed=${each.ko === chosen}
                  aria-label=${'Charts of ' + each.ko}
                  onClick=${() => onChoose(each.ko === chosen ? undefined : each.ko)}
                >
                  Charts
                </button>`
              }
            </td>
          </tr>`,
      )}
    <//>
    ${history.kos.length > MOST && html`<p class="quiet">${MOST} of ${history.kos.length} endpoints that were called.</p>`}
  `;
}
