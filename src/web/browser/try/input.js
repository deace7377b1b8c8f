// The input of a call: as a form, as JSON, or as the text that an endpoint takes.
import { html, useId, useState } from '../shared/html.js';
import { Field } from './form/field.js';
import { isJson } from './draft.js';

const NONE = {};
const MOST_ERRORS = 20;

/** What breaks the schema, told by place, since not every part has a field. */
const Broken = ({ errors, why }) => {
  const all = [...errors].flatMap(([at, of]) => of.map(({ error }) => [decodeURI(at).slice(1) || 'the input', error]));
  return html`<div role="status" class="broken">
    ${why && html`<p class="form-hint">${why}</p>`}
    ${
      all.length > 0 &&
      html`<p class="form-error">The schema does not allow this. It can be sent all the same, to see what comes:</p>
        <ul>
          ${all.slice(0, MOST_ERRORS).map(([at, error]) => html`<li><code>${at}</code> ${error}</li>`)}
        </ul>`
    }
  </div>`;
};

export const TryInput = ({ form, draft, onChange, onExample, examples, errors, why }) => {
  const id = useId();
  const [problem, setProblem] = useState('');
  const { schema, contentTypes } = form;
  const asJson = isJson(draft.contentType);
  const isForm = asJson && draft.isForm && schema !== null;
  const toJson = () => onChange({ ...draft, isForm: false, text: JSON.stringify(draft.value, undefined, 2) ?? '' });
  const toForm = () => {
    try {
      const value = draft.text.trim() === '' ? undefined : JSON.parse(draft.text);
      setProblem('');
      onChange({ ...draft, isForm: true, value });
    } catch (error) {
      setProblem('This is not JSON, which a form could show: ' + error.message);
    }
  };
  const choose = (event) => {
    const example = examples[Number(event.currentTarget.value)];
    if (example !== undefined) onExample(example);
  };
  return html`
    <div class="row">
      ${
        examples.length > 0 &&
        html`<label
          >Example
          <select value="" onChange=${choose}>
            <option value="">choose to fill in</option>
            ${examples.map(({ name }, i) => html`<option value=${String(i)}>${name}</option>`)}
          </select>
        </label>`
      }
      ${
        contentTypes.length > 1 &&
        html`<label
          >Content type
          <select
            value=${draft.contentType}
            onChange=${(event) => onChange({ ...draft, contentType: event.currentTarget.value })}
          >
            ${contentTypes.map((each) => html`<option value=${each}>${each}</option>`)}
          </select>
        </label>`
      }
      ${
        asJson &&
        schema !== null &&
        html`<button type="button" class="plain" onClick=${isForm ? toJson : toForm}>
          ${isForm ? 'Write JSON' : 'Show the form'}
        </button>`
      }
    </div>
    ${problem && html`<p class="form-error" role="alert">${problem}</p>`}
    ${
      isForm
        ? html`<${Field}
            schema=${schema}
            defs=${schema.$defs ?? NONE}
            label="Input"
            value=${draft.value}
            isRequired=${true}
            place="#"
            check=${errors}
            onChange=${(value) => onChange({ ...draft, value })}
          />`
        : html`<label for=${id}>Input as ${asJson ? 'JSON' : draft.contentType}</label>
            <textarea
              id=${id}
              rows="12"
              spellcheck="false"
              value=${asJson && draft.isForm ? (JSON.stringify(draft.value, undefined, 2) ?? '') : draft.text}
              onInput=${({ currentTarget }) => onChange({ ...draft, isForm: false, text: currentTarget.value })}
            ></textarea>`
    }
    <${Broken} errors=${errors} why=${why} />
  `;
};
