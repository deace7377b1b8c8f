// Calls that failed lately, of all or of one knowledge object: where in the code, how often, and since when.
import { useTicks } from './history.js';
import { html } from './html.js';
import { Empty, KoLink, Table, Time, Waiting } from './parts.js';
import { useLoaded } from './use-result.js';

const WAIT = 5000;

/** Where in the code, and how it came there. */
export const Frames = ({ place, frames = [] }) =>
  place &&
  html`<code>${place}</code>${
      frames.length > 1 &&
      html`<details>
        <summary>called from</summary>
        <ul>
          ${frames.slice(1).map((each) => html`<li><code>${each}</code></li>`)}
        </ul>
      </details>`
    }`;

export function Failures({ ko }) {
  const path = 'actuator/failures' + (ko === undefined ? '' : '?ko=' + encodeURIComponent(ko));
  const found = useLoaded(path, useTicks(WAIT));
  const { data } = found;
  return html`
    <${Waiting} of=${found} />
    ${data?.length === 0 && html`<${Empty}>No call failed since the service started.<//>`}
    ${
      data?.length > 0 &&
      html`<${Table}
        caption="Failed calls, the latest first"
        isHidden
        heads=${['Endpoint', 'What', 'Where', 'Times', 'Last']}
        numbers=${[3]}
        rows=${data.map((each) => ({
          key: [each.ko, each.endpoint, each.code, each.place, each.message].join('\n'),
          cells: [
            html`${ko === undefined && html`<${KoLink} id=${each.ko} />`} <code>${each.endpoint}</code>`,
            html`${each.message ?? ''} <span class="quiet">${each.code} ${each.status}</span>`,
            html`<${Frames} ...${each} />`,
            each.count.toLocaleString('en'),
            html`<${Time} at=${each.last} />
              ${each.requestId && html`<span class="quiet">request ${each.requestId}</span>`}`,
          ],
        }))}
      />`
    }
  `;
}
