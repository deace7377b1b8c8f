// Calls that failed lately, of all or of one knowledge object: where in the code, how often, and since when.
import { useTicks } from './history.js';
import { html } from './html.js';
import { KoLink, Problem, Table, Time } from './parts.js';
import { useLoaded } from './use-loaded.js';

const WAIT = 5000;

export function Failures({ ko }) {
  const path = 'actuator/failures' + (ko === undefined ? '' : '?ko=' + encodeURIComponent(ko));
  const { data, error } = useLoaded(path, useTicks(WAIT));
  return html`
    <${Problem} error=${error} />
    ${data?.length === 0 && html`<p>No call failed.</p>`}
    ${
      data?.length > 0 &&
      html`<${Table} caption="Failed calls, the latest first" heads=${['Endpoint', 'What', 'Where', 'Times', 'Last']}>
        ${data.map(
          (each) =>
            html`<tr key=${[each.endpoint, each.code, each.place, each.message].join('\n')}>
              <th scope="row">
                ${ko === undefined && html`<${KoLink} id=${each.ko} />`} <code>${each.endpoint}</code>
              </th>
              <td>${each.message ?? ''} <span class="quiet">${each.code} ${each.status}</span></td>
              <td>${each.place && html`<code>${each.place}</code>`}</td>
              <td class="number">${each.count.toLocaleString('en')}</td>
              <td><${Time} at=${each.last} /> <span class="quiet">${each.requestId}</span></td>
            </tr>`,
        )}
      <//>`
    }
  `;
}
