// What else belongs to the service: runtimes, other nodes, and settings that somebody made.
import { useServiceState } from '../shared/events.js';
import { useTicks } from '../shared/history.js';
import { html } from '../shared/html.js';
import { KoLink, Problem, span, Table } from '../shared/parts.js';
import { useLoaded } from '../shared/use-loaded.js';

const WAIT = 15_000;

export function Runtimes() {
  const state = useServiceState();
  const { data = [], error } = useLoaded('proxy/environments', useTicks(WAIT) + ' ' + state?.status);
  if (data.length === 0 && error === undefined) return null;
  return html`<section aria-labelledby="runtimes-title">
    <h2 id="runtimes-title">Runtimes</h2>
    <${Problem} error=${error} />
    <${Table} caption="What runs code beside the service" heads=${['Engine', 'Where', 'Version', 'State', 'Endpoints']}>
      ${data.map(
        ({ engine, url, local, version, status, endpoints }) =>
          html`<tr>
            <th scope="row">${engine}</th>
            <td>${local ? 'workers of this service' : url}</td>
            <td>${version}</td>
            <td data-kind=${status === 'up' ? 'good' : 'bad'}>${status}</td>
            <td class="number">${endpoints}</td>
          </tr>`,
      )}
    <//>
  </section>`;
}

const behindIn = ({ revisions, generations }) =>
  revisions === 0 && generations === 0 ? 'nothing' : `${revisions} changes of the shelf, ${generations} activations`;

const Node = ({ node }) =>
  html`<tr>
    <th scope="row">${node.name}${node.isThis && ' (this one)'}</th>
    <td>${node.address}</td>
    <td>${node.version}</td>
    <td data-kind=${node.isLive ? 'good' : 'bad'}>${node.isLive ? 'live' : 'silent for ' + span(node.age)}</td>
    <td>${behindIn(node.behind)}</td>
    <td>
      ${
        node.failures.length === 0
          ? 'none'
          : html`<ul>
              ${node.failures.map(({ knowledgeObject, cause }) => html`<li><${KoLink} id=${knowledgeObject} /> ${cause}</li>`)}
            </ul>`
      }
    </td>
  </tr>`;

export function Fleet() {
  const { data, error } = useLoaded('actuator/fleet', useTicks(WAIT));
  // An activator that is alone says so.
  if (data === undefined)
    return error === undefined || error.status === 404 ? null : html`<${Problem} error=${error} />`;
  return html`<section aria-labelledby="fleet-title">
    <h2 id="fleet-title">Fleet ${data.fleet}</h2>
    <p class="quiet">Calls and their times on this page are those of the node that answers.</p>
    <${Table}
      caption="Activators that share the shelf"
      heads=${['Node', 'Address', 'Version', 'State', 'Behind by', 'Fails to activate']}
    >
      ${data.nodes.map((node) => html`<${Node} key=${node.id} node=${node} />`)}
    <//>
  </section>`;
}

export function Settings() {
  const { data, error } = useLoaded('actuator/settings');
  return html`<section aria-labelledby="settings-title">
    <h2 id="settings-title">Settings</h2>
    <${Problem} error=${error} />
    ${data?.length === 0 && html`<p>All settings have their defaults.</p>`}
    ${
      data?.length > 0 &&
      html`<${Table} caption="Settings that differ from their defaults" heads=${['Setting', 'Value', 'Default']}>
        ${data.map(
          ({ option, value, default: usual }) =>
            html`<tr>
              <th scope="row"><code>--${option}</code></th>
              <td>${value}</td>
              <td>${usual ?? '–'}</td>
            </tr>`,
        )}
      <//>`
    }
  </section>`;
}
