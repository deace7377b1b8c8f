// Calls an endpoint as a person would: with a form, examples, and what comes back.
import { html, useEffect, useRef, useState } from '../shared/html.js';
import { get, pathOf } from '../shared/api.js';
import { KINDS, koOf, readPage, WORDS } from '../shared/knowledge-object-data.js';
import { KoLink, Problem } from '../shared/parts.js';
import { TryEndpoint } from './endpoint.js';
import { History } from './history.js';
import { useResult } from '../shared/use-result.js';

const TYPING = 300;

const Chooser = () => {
  const [q, setQ] = useState('');
  const timer = useRef(undefined);
  const { data, error } = useResult(q, (signal) => readPage('endpoints', { q }, signal));
  const search = (event) => {
    const text = event.currentTarget.value.trim();
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setQ(text), TYPING);
  };
  useEffect(() => () => clearTimeout(timer.current), []);
  return html`
    <h1>Try</h1>
    <form class="ko-search" role="search" onSubmit=${(event) => event.preventDefault()}>
      <label for="try-q">Search an endpoint by title, id, keyword or engine</label>
      <input id="try-q" type="search" maxlength="200" onInput=${search} />
    </form>
    <${Problem} error=${error} />
    ${data?.entries.length === 0 && html`<p>${q === '' ? 'Nothing is active.' : 'Nothing is found by this.'}</p>`}
    <ul class="ko-items" aria-label="Endpoints">
      ${data?.entries.map((each) => {
        const id = each['@id'];
        return html`<li key=${id + each.engine}>
          <a href=${'#/try/' + pathOf(id)}><code>/${id}</code></a>
          <p>
            ${each.title} <span class="quiet">${each.engine}</span>
            <span class="ko-state" data-kind=${KINDS[each.status]}>${WORDS[each.status] ?? each.status}</span>
          </p>
        </li>`;
      })}
    </ul>
    ${data?.next && html`<p>There are more: search for one.</p>`}
    <${History} />
  `;
};

/** `path`: id of the endpoint. */
const Chosen = ({ path }) => {
  const read = async (signal) => {
    const endpoint = await get('endpoints/' + pathOf(path), { signal });
    const forms = await get('doc/forms/' + pathOf(koOf(endpoint)), { signal });
    return { endpoint, forms: forms.filter((each) => each.endpoint === endpoint['@id']) };
  };
  const { data, error } = useResult(path, read);
  // One path may have code and a resource.
  const [method, setMethod] = useState(undefined);
  const form = data?.forms.find((each) => each.method === method) ?? data?.forms[0];
  return html`
    <h1>Try ${data?.endpoint.title ?? path}</h1>
    <p><code>/${path}</code> ${data && html`of <${KoLink} id=${koOf(data.endpoint)} />`}</p>
    <p><a href="#/try">Another endpoint</a></p>
    <${Problem} error=${error} />
    ${
      data?.endpoint.status !== 'ACTIVATED' &&
      data?.endpoint.detail &&
      html`<p class="problem">${WORDS[data.endpoint.status]}: ${data.endpoint.detail}</p>`
    }
    ${
      data?.forms.length > 1 &&
      html`<label
        >Method
        <select value=${form.method} onChange=${(event) => setMethod(event.currentTarget.value)}>
          ${data.forms.map((each) => html`<option value=${each.method}>${each.method.toUpperCase()} (${each.engine})</option>`)}
        </select>
      </label>`
    }
    ${form && html`<${TryEndpoint} key=${form.endpoint + form.method} form=${form} ko=${koOf(data.endpoint)} />`}
  `;
};

export const Try = ({ path }) => (path === '' ? html`<${Chooser} />` : html`<${Chosen} key=${path} path=${path} />`);
