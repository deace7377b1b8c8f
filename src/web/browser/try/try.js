// Calls an endpoint as a person would: with a form, examples, and what comes back.
import { html } from '../shared/html.js';
import { pathOf } from '../shared/api.js';
import { Empty, hrefOf, Waiting } from '../shared/parts.js';
import { useLoaded } from '../shared/use-result.js';
import { TryEndpoint } from './endpoint.js';

const keyOf = ({ name, method }) => (method === 'get' ? name + ' get' : name);

/** `rest`: name of an endpoint; the first that is active where there is none. One name may have code and a resource. */
export const Try = ({ id, about, rest }) => {
  const loaded = useLoaded('doc/forms/' + pathOf(id), about.runs.join() + about.state);
  const { data: forms } = loaded;
  if (forms === undefined) return html`<${Waiting} of=${loaded} />`;
  const active = forms.filter(({ status }) => status === 'ACTIVATED');
  const form =
    forms.find((each) => keyOf(each) === rest) ?? forms.find(({ name }) => name === rest) ?? active[0] ?? forms[0];
  if (form === undefined) return html`<${Empty}>It has no endpoint that can be called.<//>`;
  const detail = about.endpoints.find((each) => each.id === form.endpoint && each.method === form.method)?.detail;
  return html`
    ${
      forms.length > 1 &&
      html`<label class="choice">
        Endpoint
        <select value=${keyOf(form)} onChange=${({ target }) => (location.hash = hrefOf(id, 'try', target.value))}>
          ${forms.map((each) => html`<option value=${keyOf(each)}>${each.name} (${each.engine})</option>`)}
        </select>
      </label>`
    }
    ${form.status !== 'ACTIVATED' && html`<p class="note bad">It is not active, so that a call fails${detail ? ': ' + detail : '.'}</p>`}
    <${TryEndpoint} key=${form.endpoint + form.method} form=${form} ko=${id} />
  `;
};
