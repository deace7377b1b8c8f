// What a knowledge object says of itself, and its endpoints.
import { base, pathOf } from '../shared/api.js';
import { html } from '../shared/html.js';
import { Empty, hrefOf, State } from '../shared/parts.js';
import { useLoaded } from '../shared/use-result.js';

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

const Fact = ({ name, values, id, paths }) => {
  const all = [values ?? []].flat();
  return (
    all.length > 0 &&
    html`<div>
      <dt>${name}</dt>
      ${all.map((text) => html`<dd><${Text} id=${id} paths=${paths} text=${String(text)} /></dd>`)}
    </div>`
  );
};

const Evidence = ({ evidence, facts }) =>
  evidence.length > 0 &&
  html`<h2>Evidence</h2>
    ${evidence.map(
      ({ title, sources, date, creators, documentation, tests }) =>
        html`<dl class="facts">
          <${Fact} name=${title === undefined ? 'Source' : 'Title'} values=${title ?? sources} ...${facts} />
          ${title !== undefined && html`<${Fact} name="Source" values=${sources} ...${facts} />`}
          <${Fact} name="Date" values=${date} ...${facts} />
          <${Fact} name="By" values=${creators} ...${facts} />
          <${Fact} name="Documentation" values=${documentation} ...${facts} />
          <${Fact} name="Tests" values=${tests} ...${facts} />
        </dl>`,
    )}`;

const Endpoint = ({ ko, endpoint: { id, name, method, engine, status, detail } }) => html`
  <li>
    <p class="row">
      <span class="tag">${method.toUpperCase()}</span> <code class="grow">/${id}</code>
      <span class="quiet">${engine}</span>
      <${State} of=${status} />
      ${status === 'ACTIVATED' && html`<a class="button plain" href=${hrefOf(ko, 'try', name)} aria-label=${'Try ' + id}>Try</a>`}
    </p>
    ${detail && html`<p class=${status === 'FAILED_TO_ACTIVATE' ? 'note bad' : 'quiet'}>${detail}</p>`}
  </li>
`;

/** Of what could not be loaded at all there is no endpoint that could say why. */
const WhyNot = ({ id }) => {
  const { data } = useLoaded('actuator/problems?ko=' + encodeURIComponent(id));
  const own = data?.problems.filter(({ endpoint }) => endpoint === undefined) ?? [];
  return own.map(({ detail, status }) => html`<p class=${status === 'NONE' ? 'quiet' : 'note bad'}>${detail}</p>`);
};

export const About = ({ id, about, may }) => {
  const facts = { id, paths: about.paths };
  const { endpoints, description, license, date, creators, contributors, documentation, keywords, atId } = about;
  return html`
    <div class="columns">
      <div>
        ${description ? html`<p class="lead">${description}</p>` : html`<p class="quiet">Its authors give no description.</p>`}
        <h2>Endpoints</h2>
        ${endpoints.length === 0 && html`<${Empty}>${about.state === 'idle' ? 'It has no endpoint to call.' : 'None can be called.'}<//>`}
        ${endpoints.length === 0 && may.includes('ko-details') && html`<${WhyNot} id=${id} />`}
        <ul class="items plain-items">
          ${endpoints.map((each) => html`<${Endpoint} key=${each.id + each.engine} ko=${id} endpoint=${each} />`)}
        </ul>
        <${Evidence} evidence=${about.evidence} facts=${facts} />
      </div>
      <aside aria-label="Facts">
        <dl class="facts">
          <${Fact} name="Licence" values=${license ?? 'not stated'} ...${facts} />
          <${Fact} name="Version" values=${about.version} ...${facts} />
          <${Fact} name="Date" values=${date} ...${facts} />
          <${Fact} name="Creator" values=${creators} ...${facts} />
          <${Fact} name="Contributors" values=${contributors} ...${facts} />
          <${Fact} name="Keywords" values=${keywords.join(', ') || undefined} id=${id} paths=${{}} />
          <${Fact} name="Documentation" values=${documentation} ...${facts} />
          ${atId !== undefined && html`<${Fact} name="@id" values=${atId} id=${id} paths=${{}} />`}
        </dl>
        ${
          about.shelf &&
          html`<p>
            ${about.descriptor && html`<a href=${'doc?url=' + encodeURIComponent('/kos/' + pathOf(id) + '/' + pathOf(about.descriptor))}>OpenAPI</a>`}
            ${about.page && html`<a href=${base + 'kos/' + pathOf(id) + '/' + pathOf(about.page)} rel="noreferrer">Page of its authors</a>`}
            <a href=${base + 'kos/' + pathOf(id)} rel="noreferrer">Metadata</a>
            <a href=${base + 'kos/' + pathOf(id) + '?format=zip'} rel="noreferrer">Package (zip)</a>
          </p>`
        }
      </aside>
    </div>
  `;
};
