// What a knowledge object says of itself, and how its endpoints are.
import { pathOf } from '../shared/api.js';
import { html } from '../shared/html.js';
import { hrefOf, KINDS, WORDS } from '../shared/knowledge-object-data.js';
import { Problem, Table, Time } from '../shared/parts.js';
import { useLoaded } from '../shared/use-loaded.js';

const ADDRESS = /^https?:\/\/[^\s<>"]+$/;
/** A link of an author into this service would be followed with what the browser knows of logins. */
const isOfOthers = (address) => ADDRESS.test(address) && URL.parse(address)?.origin !== location.origin;

/** An address can be followed, and a file of the package read; all else stays text. */
const Text = ({ id, paths, text }) => {
  if (Object.hasOwn(paths, text)) return html`<a href=${hrefOf(id, 'files', paths[text])}>${text}</a>`;
  return text.split(/(\s+)/).map((word) => {
    const [, address = word, end = ''] = /^(.*?)([.,;)\]]?)$/.exec(word) ?? [];
    return isOfOthers(address) ? html`<a href=${address} rel="noreferrer" target="_blank">${address}</a>${end}` : word;
  });
};

const Fact = ({ name, values = [], id, paths }) => {
  const all = [values].flat().filter((each) => each !== undefined);
  return html`<div>
    <dt>${name}</dt>
    <dd>
      ${
        all.length === 0
          ? html`<em class="quiet">not stated</em>`
          : all.map((text) => html`<p><${Text} id=${id} paths=${paths} text=${String(text)} /></p>`)
      }
    </dd>
  </div>`;
};

const Evidence = ({ id, paths, evidence }) =>
  evidence.map(
    ({ title, sources, date, creators, documentation, tests }) =>
      html`<dl class="facts">
        <${Fact} name="Evidence" values=${title ?? sources} id=${id} paths=${paths} />
        ${title !== undefined && html`<${Fact} name="Source" values=${sources} id=${id} paths=${paths} />`}
        <${Fact} name="Date" values=${date} id=${id} paths=${paths} />
        <${Fact} name="By" values=${creators} id=${id} paths=${paths} />
        <${Fact} name="Documentation" values=${documentation} id=${id} paths=${paths} />
        <${Fact} name="Tests" values=${tests} id=${id} paths=${paths} />
      </dl>`,
  );

const Endpoints = ({ endpoints }) => {
  if (endpoints.length === 0)
    return html`<p>Nothing of it is active. What is new on the shelf becomes active with Activate.</p>`;
  return html`<${Table} caption="Endpoints" heads=${['Endpoint', 'State', 'Engine', 'Since', 'Try']}>
    ${endpoints.map((each) => {
      const id = each['@id'];
      return html`<tr key=${id + each.engine}>
        <th scope="row"><code>/${id}</code></th>
        <td>
          <span class="ko-state" data-kind=${KINDS[each.status]}>${WORDS[each.status] ?? each.status}</span>
          ${each.detail && html`<p class="detail" data-kind=${KINDS[each.status]}>${each.detail}</p>`}
        </td>
        <td>${each.engine}</td>
        <td>${each.activated && html`<${Time} at=${each.activated.slice(0, 23)} />`}</td>
        <td>
          ${each.status === 'ACTIVATED' && html`<a href=${'#/try/' + pathOf(id)} aria-label=${'Try ' + id}>Try</a>`}
        </td>
      </tr>`;
    })}
  <//>`;
};

/** Of what could not be loaded at all there is no endpoint that could say so. */
const WhyNot = ({ id }) => {
  const { data } = useLoaded('actuator/problems?limit=1000');
  const own = data?.problems.filter(({ ko, endpoint }) => ko === id && endpoint === undefined) ?? [];
  return own.map(({ detail }) => html`<p class="problem">${detail}</p>`);
};

export const About = ({ id, ko, endpoints }) => {
  const { data: about, error } = useLoaded(ko === undefined ? undefined : 'doc/about/' + pathOf(id), ko?.etag);
  const facts = about && { id, paths: about.paths };
  return html`
    <h2>Endpoints</h2>
    <${Endpoints} endpoints=${endpoints} />
    ${ko !== undefined && endpoints.length === 0 && html`<${WhyNot} id=${id} />`}
    <h2>About</h2>
    <${Problem} error=${error} />
    ${
      about &&
      html`
        <p class="ko-description">${about.description ?? html`<em class="quiet">Description not stated</em>`}</p>
        <dl class="facts">
          <${Fact} name="Version" values=${about.version} ...${facts} />
          <${Fact} name="Date" values=${about.date} ...${facts} />
          <${Fact} name="Licence" values=${about.license} ...${facts} />
          <${Fact} name="Creator" values=${about.creators} ...${facts} />
          ${about.contributors?.length > 0 && html`<${Fact} name="Contributors" values=${about.contributors} ...${facts} />`}
          <${Fact} name="Documentation" values=${about.documentation} ...${facts} />
          ${about.atId !== undefined && html`<${Fact} name="@id" values=${about.atId} id=${id} paths=${{}} />`}
        </dl>
        <${Evidence} evidence=${about.evidence ?? []} ...${facts} />
        ${
          about.page &&
          html`<p>
            <a href=${'kos/' + pathOf(id) + '/' + pathOf(about.page)} rel="noreferrer"
              >Information page of its authors</a
            >
          </p>`
        }
      `
    }
  `;
};
