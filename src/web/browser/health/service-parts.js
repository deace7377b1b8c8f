// What else belongs to the service: runtimes, other nodes, and settings that somebody made.
import { useServiceState } from '../shared/events.js';
import { useTicks } from '../shared/history.js';
import { html } from '../shared/html.js';
import { KoLink, Problem, span, Table } from '../shared/parts.js';
import { useLoaded } from '../shared/use-result.js';

const WAIT = 15_000;

export function Runtimes() {
  const state = useServiceState();
  const { data = [], error } = useLoaded('proxy/environments', useTicks(WAIT) + ' ' + state?.status);
  if (data.length === 0 && error === undefined) return null;
  return html`
    <h2>Runtimes</h2>
    <${Problem} error=${error} />
    <${Table}
      caption="What runs code beside the service"
      isHidden
      heads=${['Engine', 'Where', 'Version', 'State', 'Endpoints']}
      numbers=${[4]}
      rows=${data.map(({ engine, url, local, version, status, endpoints }) => ({
        cells: [
          engine,
          local ? 'workers of this service' : url,
          version,
          html`<span data-kind=${status === 'up' ? 'good' : 'bad'}>${status}</span>`,
          endpoints,
        ],
      }))}
    />
  `;
}

const behindIn = ({ revisions, generations }) =>
  revisions === 0 && generations === 0 ? 'nothing' : `${revisions} changes of the shelf, ${generations} activations`;

const failuresOf = ({ failures }) =>
  failures.length === 0
    ? 'none'
    : html`<ul>
        ${failures.map(({ knowledgeObject, cause }) => html`<li><${KoLink} id=${knowledgeObject} /> ${cause}</li>`)}
      </ul>`;

export function Fleet() {
  const { data, error } = useLoaded('actuator/fleet', useTicks(WAIT));
  // An activator that is alone says so.
  if (data === undefined)
    return error === undefined || error.status === 404 ? null : html`<${Problem} error=${error} />`;
  return html`
    <h2>Nodes of ${data.fleet}</h2>
    <p class="quiet">Calls and their times on this page are those of the node that answers.</p>
    <${Table}
      caption="Activators that share the shelf"
      isHidden
      heads=${['Node', 'Address', 'Version', 'State', 'Behind by', 'Fails to activate']}
      rows=${data.nodes.map((node) => ({
        key: node.id,
        cells: [
          node.name + (node.isThis ? ' (this one)' : ''),
          node.address,
          node.version,
          html`<span data-kind=${node.isLive ? 'good' : 'bad'}
            >${node.isLive ? 'live' : 'silent for ' + span(node.age)}</span
          >`,
          behindIn(node.behind),
          failuresOf(node),
        ],
      }))}
    />
  `;
}

export function Settings() {
  const { data, error } = useLoaded('actuator/settings');
  return html`
    <h2>Settings</h2>
    <${Problem} error=${error} />
    ${data?.length === 0 && html`<p>All settings have their defaults.</p>`}
    ${
      data?.length > 0 &&
      html`<${Table}
        caption="Settings that differ from their defaults"
        isHidden
        heads=${['Setting', 'Value', 'Default']}
        rows=${data.map(({ option, value, default: usual }) => ({
          cells: [html`<code>--${option}</code>`, value, usual ?? '–'],
        }))}
      />`
    }
  `;
}
