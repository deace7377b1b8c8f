// How the service is, what it does, and what does not run.
import { useServiceState } from '../shared/events.js';
import { HistoryCharts, useHistory, useTicks } from '../shared/history.js';
import { html, useState } from '../shared/html.js';
import { CalledEndpoints } from './endpoints.js';
import { Fleet, Runtimes, Settings } from './service-parts.js';
import { countOf, KoLink, Problem, span, Table } from '../shared/parts.js';
import { useLoaded } from '../shared/use-loaded.js';

const WAIT = 30_000;

const Facts = () => {
  const state = useServiceState();
  const { data: info, error } = useLoaded('actuator/info', useTicks(WAIT));
  const { data: health } = useLoaded('actuator/health', state?.status + ' ' + state?.catalogue);
  const bad = Object.entries(health?.components ?? {}).filter(([, { status }]) => status !== 'UP');
  return html`
    <${Problem} error=${error} />
    <dl class="facts">
      <div>
        <dt>Health</dt>
        <dd>
          ${health?.status ?? '…'}
          ${bad.map(([name, { status, details }]) => html`<p class="detail"><strong>${name}: ${status}</strong> ${details?.problem ?? ''}</p>`)}
        </dd>
      </div>
      <div>
        <dt>Endpoints</dt>
        <dd>
          ${
            state === undefined
              ? '…'
              : `${state.endpoints.activated} active` +
                (state.endpoints.failed > 0 ? `, ${state.endpoints.failed} failed` : '') +
                (state.endpoints.loading > 0 ? `, ${state.endpoints.loading} being activated` : '')
          }
        </dd>
      </div>
      <div>
        <dt>Knowledge objects</dt>
        <dd>${state === undefined ? '…' : state.kos.toLocaleString('en')}</dd>
      </div>
      <div>
        <dt>Version</dt>
        <dd>${info === undefined ? '…' : `${info.build.version} on Node ${info.build.node}`}</dd>
      </div>
      <div>
        <dt>Running for</dt>
        <dd>${info === undefined ? '…' : span(info.uptimeSeconds)}</dd>
      </div>
      <div>
        <dt>Walls of the kernel</dt>
        <dd>${info === undefined ? '…' : wallsIn(info.walls)}</dd>
      </div>
    </dl>
  `;
};

const wallsIn = ({ mode, landlock, seccomp }) =>
  mode === 'off'
    ? 'off'
    : [landlock ? 'Landlock ' + landlock : 'no Landlock', seccomp ? 'seccomp' : 'no seccomp'].join(', ');

const STATES = { UNREADABLE: 'cannot be read', FAILED_TO_ACTIVATE: 'failed', NONE: 'has no endpoint' };

const Problems = () => {
  const state = useServiceState();
  const { data, error } = useLoaded('actuator/problems', state?.catalogue);
  const problems = data?.problems ?? [];
  const more = (data?.total ?? 0) - problems.length;
  return html`<section aria-labelledby="problems-title">
    <h2 id="problems-title">What does not run</h2>
    <${Problem} error=${error} />
    ${data !== undefined && problems.length === 0 && html`<p>Everything on the shelf runs.</p>`}
    ${
      problems.length > 0 &&
      html`<${Table} caption="Not active, and why" heads=${['Knowledge object', 'State', 'Why']}>
        ${problems.map(
          ({ ko, where, endpoint, status, detail }) =>
            html`<tr>
              <th scope="row">
                ${ko === undefined ? where : html`<${KoLink} id=${ko} />`} ${endpoint && html`<code>${endpoint}</code>`}
              </th>
              <td data-kind=${status === 'NONE' ? 'wait' : 'bad'}>${STATES[status] ?? status}</td>
              <td>${detail}</td>
            </tr>`,
        )}
      <//>`
    }
    ${more > 0 && html`<p>And ${countOf(more, 'problem')} more: <code>GET /actuator/problems?limit=1000</code></p>`}
  </section>`;
};

export function Overview() {
  const [ko, setKo] = useState();
  const all = useHistory();
  const one = useHistory(ko);
  return html`
    <h1>Overview</h1>
    <${Facts} />
    <section aria-labelledby="calls-title">
      <h2 id="calls-title">Calls of the last hour${ko === undefined ? '' : ' of ' + ko}</h2>
      ${ko !== undefined && html`<button class="plain" onClick=${() => setKo(undefined)}>Show all again</button>`}
      <${HistoryCharts} key=${ko ?? ''} history=${one.data} error=${one.error} />
      <${CalledEndpoints} history=${all.data} chosen=${ko} onChoose=${setKo} />
    </section>
    <${Problems} />
    <${Runtimes} />
    <${Fleet} />
    <${Settings} />
  `;
}
