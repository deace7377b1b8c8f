// One version of a knowledge object: what it is, holds, does and says.
import { useServiceState } from '../shared/events.js';
import { html } from '../shared/html.js';
import { About } from './about.js';
import { Actions } from './actions.js';
import { Calls } from './calls.js';
import { endpointsOfName, hrefOf, koOf, nameOf, readKo, titleOf } from '../shared/knowledge-object-data.js';
import { Examples } from './examples.js';
import { Files } from './files.js';
import { Log } from './log.js';
import { Versions } from './versions.js';
import { Problem } from '../shared/parts.js';
import { useResult } from '../shared/use-result.js';

const TABS = [
  { name: '', title: 'About', part: About },
  { name: 'files', title: 'Files', part: Files },
  { name: 'versions', title: 'Versions', part: Versions },
  { name: 'examples', title: 'Examples', part: Examples },
  { name: 'calls', title: 'Calls', part: Calls },
  { name: 'log', title: 'Log', part: Log },
];

const Tabs = ({ id, tab }) => html`
  <nav aria-label=${'Parts of ' + id}>
    <ul>
      ${TABS.map(
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

/** What is loaded may be there after it left the shelf. */
const isGone = (error) => error?.status === 404;

const goneWords = (endpoints) =>
  'It is not on the shelf.' +
  (endpoints.length > 0 ? ' What is active of it can be called until the next refresh.' : '') +
  ' What was deleted is in the';

const View = ({ id, tab, rest }) => {
  const state = useServiceState();
  const shelf = useResult(id, (signal) => readKo(id, signal), state?.catalogue);
  const loaded = useResult(
    id,
    async (signal) => (await endpointsOfName(nameOf(id), signal)).filter((each) => koOf(each) === id),
    state?.catalogue,
  );
  const endpoints = loaded.data ?? [];
  const ko = isGone(shelf.error) ? undefined : shelf.data;
  const title = ko === undefined ? (endpoints[0]?.title ?? id) : titleOf(ko.metadata, id);
  const part = TABS.find(({ name }) => name === tab)?.part;
  const onChange = () => {
    shelf.reload();
    loaded.reload();
  };
  return html`
    <h1>${title}</h1>
    <p>
      <code>${id}</code> ${ko?.digest && html`<code class="quiet" title=${ko.digest}>${ko.digest.slice(0, 19)}</code>`}
    </p>
    ${
      isGone(shelf.error) &&
      html`<p class="problem" role="status">
        ${goneWords(endpoints)} <a href="#/kos">list of what was deleted or replaced</a>.
      </p>`
    }
    <${Problem} error=${isGone(shelf.error) ? undefined : shelf.error} />
    <${Actions} id=${id} title=${title} ko=${ko} endpoints=${endpoints} onChange=${onChange} />
    <${Tabs} id=${id} tab=${tab} />
    ${
      part === undefined
        ? html`<p>There is no such part.</p>`
        : html`<section aria-label=${TABS.find(({ name }) => name === tab).title}>
            <${part} key=${tab} id=${id} ko=${ko} endpoints=${endpoints} rest=${rest} />
          </section>`
    }
  `;
};

export const KnowledgeObject = ({ path }) => {
  const [naan, name, version, tab = '', ...rest] = path.split('/');
  const id = [naan, name, version].join('/');
  if (!naan || !name || !version)
    return html`<h1>Not found</h1>
      <p>A knowledge object has an id such as naan/name/version. <a href="#/kos">To the list</a></p>`;
  return html`<${View} key=${id} id=${id} tab=${tab} rest=${rest.join('/')} />`;
};
