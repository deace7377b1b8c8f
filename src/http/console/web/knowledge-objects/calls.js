// Calls of one knowledge object in the last hour, and those that failed.
import { Failures } from '../shared/failures.js';
import { HistoryCharts, useHistory } from '../shared/history.js';
import { html } from '../shared/html.js';
import { duration, Table } from '../shared/parts.js';

const Endpoints = ({ kos }) =>
  kos.length > 0 &&
  html`<${Table}
    caption="Endpoints that were called"
    heads=${['Endpoint', 'Engine', 'Calls', 'Failed', 'p50', 'p95', 'p99']}
  >
    ${kos.map(
      (each) =>
        html`<tr key=${each.endpoint}>
          <th scope="row"><code>${each.endpoint}</code></th>
          <td>${each.engine}</td>
          <td class="number">${each.calls.toLocaleString('en')}</td>
          <td class="number" data-kind=${each.failed > 0 ? 'bad' : undefined}>${each.failed.toLocaleString('en')}</td>
          <td class="number">${duration(each.p50)}</td>
          <td class="number">${duration(each.p95)}</td>
          <td class="number">${duration(each.p99)}</td>
        </tr>`,
    )}
  <//>`;

export const Calls = ({ id }) => {
  const { data, error } = useHistory(id);
  return html`
    <h2>Calls of the last hour</h2>
    <${HistoryCharts} history=${data} error=${error} />
    ${data && html`<${Endpoints} kos=${data.kos} />`}
    <h2>Failures</h2>
    <${Failures} ko=${id} />
  `;
};
