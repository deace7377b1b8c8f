// How the service is at a glance: what is wrong first, each with what to do about it.
import { useServiceState } from '../shared/events.js';
import { HistoryCharts, useHistory, useTicks } from '../shared/history.js';
import { html } from '../shared/html.js';
import { countOf, Empty, hrefOf, KoLink, span, State, Table, Waiting } from '../shared/parts.js';
import { useLoaded } from '../shared/use-result.js';
import { CalledEndpoints } from './endpoints.js';
import { Fleet, Runtimes, Settings } from './service-parts.js';

const WAIT = 15_000;
const MOST = 25;

const Fact = ({ name, kind, children }) =>
  html`<div>
    <dt>${name}</dt>
    <dd data-kind=${kind}>${children}</dd>
  </div>`;

const wallsIn = ({ mode, landlock, seccomp }) =>
  mode === 'off'
    ? 'off'
    : [landlock ? 'Landlock ' + landlock : 'no Landlock', seccomp ? 'seccomp' : 'no seccomp'].join(', ');

/** Components that are not up, with what they say of themselves. */
const Components = ({ components }) => {
  const bad = Object.entries(components).filter(([, { status }]) => status !== 'UP');
  return bad.map(
    ([name, { status, details }]) =>
      html`<p class="note bad" role="status">
        <strong>${name} is ${status.toLowerCase()}.</strong> ${details?.problem ?? ''} The log of the service says more.
      </p>`,
  );
};

/** Knowledge objects in a state that somebody wants to know of, with a link to each. */
const Those = ({ state, words, what }) => {
  const catalogue = useServiceState()?.catalogue;
  const { data } = useLoaded(
    'doc/catalogue?' + new URLSearchParams({ state, limit: '10' }),
    useTicks(WAIT) + ' ' + catalogue,
  );
  return (
    data?.found > 0 &&
    html`<h2>${words}</h2>
      <p class="quiet">
        ${what}
        ${data.found > data.kos.length && html`<a href=${'#/?' + new URLSearchParams({ state })}>All ${data.found.toLocaleString('en')}</a>`}
      </p>
      <ul class="files">
        ${data.kos.map(({ name, title, versions }) => {
          const id = name + '/' + versions.find((each) => each.state === state)?.version;
          return html`<li>
            <a href=${hrefOf(id)}>${title}</a> <code class="quiet">${id}</code> <${State} of=${state} />
          </li>`;
        })}
      </ul>`
  );
};

const Problems = () => {
  const catalogue = useServiceState()?.catalogue;
  const found = useLoaded('actuator/problems?limit=' + MOST, catalogue);
  const { data } = found;
  const shown = (data?.problems ?? []).filter(({ status }) => status !== 'NONE');
  const more = (data?.total ?? 0) - (data?.problems.length ?? 0);
  return html`
    <h2>What should run and does not</h2>
    <${Waiting} of=${found} />
    ${data && shown.length === 0 && html`<p data-kind="good">All that should run does.</p>`}
    ${
      shown.length > 0 &&
      html`<${Table}
        caption="Not active, and why"
        isHidden
        heads=${['Knowledge object', 'Why', 'State']}
        rows=${shown.map(({ ko, where, endpoint, status, detail }) => ({
          cells: [
            html`${ko === undefined ? where : html`<${KoLink} id=${ko} />`}
            ${endpoint && html`<code>${endpoint}</code>`}`,
            detail,
            html`<${State} of=${status} />`,
          ],
        }))}
      />`
    }
    ${more > 0 && html`<p><a href="#/?state=failed">And ${countOf(more, 'more')}</a></p>`}
  `;
};

const SIZES = ['bytes', 'kB', 'MB', 'GB', 'TB'];
const bytesOf = (n) => {
  const step = n < 1000 ? 0 : Math.min(Math.floor(Math.log10(n) / 3), 4);
  return Number((n / 1000 ** step).toPrecision(3)) + ' ' + SIZES[step];
};

const Disk = ({ details: { freeBytes, totalBytes } }) =>
  freeBytes !== undefined &&
  html`<${Fact} name="Disk of the shelf" kind=${freeBytes < totalBytes / 20 ? 'bad' : undefined}>
    ${bytesOf(freeBytes)} free of ${bytesOf(totalBytes)}
    ${freeBytes < totalBytes / 20 && html`<br />Make room, or nothing can be imported. <a href="#/deleted">What is kept</a> takes some.`}
  <//>`;

export function Health() {
  const state = useServiceState();
  const ticks = useTicks(WAIT);
  const info = useLoaded('actuator/info', ticks);
  const health = useLoaded('actuator/health', ticks + ' ' + state?.status + ' ' + state?.catalogue);
  const history = useHistory();
  const { components } = health.data ?? {};
  return html`
    <h1>Health</h1>
    <${Waiting} of=${health} />
    ${components && html`<${Components} components=${components} />`}
    ${
      info.data &&
      html`<dl class="facts wide">
        <${Fact} name="Service" kind=${state?.status === 'UP' ? 'good' : 'wait'}
          >${(state?.status ?? health.data?.status ?? '…').toLowerCase()}<//
        >
        <${Fact} name="Knowledge objects">${info.data.kos.toLocaleString('en')} versions <a href="#/">Catalogue</a><//>
        <${Fact} name="Endpoints" kind=${info.data.endpoints.failed > 0 ? 'bad' : undefined}>
          ${info.data.endpoints.activated.toLocaleString('en')}
          active${info.data.endpoints.failed > 0 && ', ' + info.data.endpoints.failed + ' failed'}
        <//>
        ${components && html`<${Disk} details=${components.shelf?.details ?? {}} />`}
        <${Fact} name="Version">${info.data.build.version} on Node ${info.data.build.node}<//>
        <${Fact} name="Running for">${span(info.data.uptimeSeconds)}<//>
        <${Fact} name="Confinement of code">${wallsIn(info.data.walls)}<//>
        <${Fact} name="Changes"><a href="#/activity">Who changed what</a><//>
      </dl>`
    }
    <${Problems} />
    <${Those}
      state="changed"
      words="Other packages run than those on the shelf"
      what="Activate them, or roll them back."
    />
    <${Those} state="deleted" words="Deleted, and still running" what="They answer until they are stopped." />
    <${Those} state="starting" words="Starting, or waiting for an installation" what="Their pages say what goes on." />
    <${Those} state="new" words="On the shelf and not activated" what="They cannot be called before." />
    <h2>Calls of the last hour</h2>
    <${HistoryCharts} history=${history} />
    ${history.data && html`<${CalledEndpoints} kos=${history.data.kos} />`}
    <${Runtimes} />
    <${Fleet} />
    <${Settings} />
  `;
}
