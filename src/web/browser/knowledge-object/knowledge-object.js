// One version of a knowledge object: what it is, how it is called, and, for operators, what became of it.
import { useServiceState } from '../shared/events.js';
import { html, useEffect, useState } from '../shared/html.js';
import { Digest, Empty, hrefOf, nameOf, State, versionOf, Waiting, wordOf } from '../shared/parts.js';
import { useLoaded } from '../shared/use-result.js';
import { useWho } from '../shared/who.js';
import { activate, pathOf, send } from '../shared/api.js';
import { Login } from '../login.js';
import { About } from './about.js';
import { Actions, DoIt } from './actions.js';
import { Calls } from './calls.js';
import { Examples } from './examples.js';
import { Files } from './files.js';
import { History } from './history.js';
import { Log } from './log.js';
import { Versions } from './versions.js';
import { Try } from '../try/try.js';

const TABS = [
  { name: '', title: 'About', part: About },
  { name: 'try', title: 'Try', part: Try },
  { name: 'examples', title: 'Examples', part: Examples },
  { name: 'files', title: 'Files', part: Files },
  { name: 'versions', title: 'Versions', part: Versions },
  { name: 'history', title: 'History', needs: 'info', part: History },
  { name: 'calls', title: 'Calls', needs: 'info', part: Calls },
  { name: 'log', title: 'Log', needs: 'ko-details', part: Log },
];

const Tabs = ({ id, tab, may }) => html`
  <nav class="tabs" aria-label=${'Parts of ' + id}>
    <ul>
      ${TABS.filter(({ needs }) => needs === undefined || may.includes(needs)).map(
        ({ name, title }) =>
          html`<li>
            <a href=${name === '' ? hrefOf(id) : hrefOf(id, name)} aria-current=${name === tab ? 'page' : undefined}
              >${title}</a
            >
          </li>`,
      )}
    </ul>
  </nav>
`;

/** What runs is what is shown: where they differ, that is said with the one thing to do about it. */
const Running = ({ about, may, onChange }) => {
  const { id, shelf, runs, endpoints } = about;
  const others = runs.filter((digest) => digest !== shelf?.digest);
  const canAct = may.includes('activation');
  if (others.length > 0) {
    const [words, action, act] =
      shelf === undefined
        ? ['It was deleted from the shelf, and still answers calls with', 'Stop it', () => stop(id)]
        : [
            'Another package runs than the one on the shelf. Calls are answered by',
            'Activate what is on the shelf',
            () => activate(id),
          ];
    return html`<div class="note bad" role="status">
      <p>
        ${words}
        ${others.map((digest) => html`<${Digest} of=${digest} /> `)}${shelf && html`while the shelf has <${Digest} of=${shelf.digest} />`}
      </p>
      ${canAct && html`<${DoIt} words=${action} act=${act} onChange=${onChange} />`}
    </div>`;
  }
  if (shelf === undefined) return html`<p class="note" role="status">It is not on the shelf any more.</p>`;
  if (about.state === 'new')
    return html`<div class="note" role="status">
      <p>It is on the shelf and is not activated, so that it cannot be called.</p>
      ${canAct && html`<${DoIt} words="Activate" act=${() => activate(id)} onChange=${onChange} />`}
    </div>`;
  return html`<p class="quiet">
    Package
    <${Digest}
      of=${shelf.digest}
    />${runs.length > 0 && ', the one that runs'}${endpoints.length > 0 && runs.length === 0 && ', none of which runs'}
  </p>`;
};

/** A refresh lets go of what the shelf has no more. */
const stop = (id) => send('POST', 'actuator/activation/refresh/' + pathOf(id));

const OtherVersions = ({ id, versions }) =>
  versions.length > 1 &&
  html`<label
    ><span class="unseen">Version</span>
    <select value=${id} onChange=${({ target }) => (location.hash = hrefOf(target.value))}>
      ${versions.toReversed().map((each) => html`<option value=${each.id}>${versionOf(each.id)} (${wordOf(each.state)})</option>`)}
    </select>
  </label>`;

const STARTING_MS = 1500;

const View = ({ id, tab, rest }) => {
  const { may, kind } = useWho();
  const [ticks, setTicks] = useState(0);
  const catalogue = useServiceState()?.catalogue;
  const read = useLoaded('doc/about/' + pathOf(id), ticks + ' ' + (catalogue ?? ''));
  const about = read.data;
  const isStarting = about?.state === 'starting';
  useEffect(() => {
    const timer = isStarting && setInterval(() => setTicks((before) => before + 1), STARTING_MS);
    return () => clearInterval(timer);
  }, [isStarting]);
  const isGone = read.error?.status === 404;
  // Whoever deleted it was on a button that is not there any more.
  useEffect(() => isGone && about !== undefined && document.getElementById('main').focus(), [isGone]);
  if (isGone)
    return html`<h1>${id}</h1>
      <${Empty}>
        There is no such knowledge object here. <a href="#/">To the catalogue</a>
        ${may.includes('ko-details') && html`, or to <a href="#/deleted">what was deleted or replaced</a>`}
      <//>`;
  if (about === undefined)
    return html`<h1>${id}</h1>
      <${Waiting} of=${read} />`;
  const onChange = () => read.reload();
  const { name, title, part } = TABS.find((each) => each.name === tab) ?? {};
  const needs = TABS.find((each) => each.name === tab)?.needs;
  const isAllowed = needs === undefined || may.includes(needs);
  return html`
    <div class="head">
      <div class="grow">
        <h1>${about.title ?? id} <${State} of=${about.state} /></h1>
        <p class="row quiet"><code>${id}</code> <${OtherVersions} id=${id} versions=${about.versions} /></p>
      </div>
      <${Actions} about=${about} may=${may} onChange=${onChange} />
    </div>
    <${Running} about=${about} may=${may} onChange=${onChange} />
    <${Tabs} id=${id} tab=${tab} may=${may} />
    ${
      part === undefined || !isAllowed
        ? part !== undefined && kind === 'anonymous'
          ? html`<${Login} isPart why=${title + ' needs a login.'} />`
          : html`<${Empty}>
              ${part === undefined ? 'There is no such part.' : 'You may not see this of it.'}
              <a href=${hrefOf(id)}>To ${nameOf(id)}</a>
            <//>`
        : html`<section class="part" aria-label=${title}>
            <${part} key=${name} id=${id} about=${about} rest=${rest} may=${may} />
          </section>`
    }
  `;
};

export const KnowledgeObject = ({ path }) => {
  const [naan, name, version, tab = '', ...rest] = path.split('/');
  const id = [naan, name, version].join('/');
  if (!naan || !name || !version)
    return html`<h1>Not found</h1>
      <${Empty}>A knowledge object has an id such as naan/name/version. <a href="#/">To the catalogue</a><//>`;
  return html`<${View} key=${id} id=${id} tab=${tab} rest=${rest.join('/')} />`;
};
