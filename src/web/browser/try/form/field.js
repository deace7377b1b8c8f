// A field for each part of an input, made from its schema.
import { html, useId, useState } from '../../shared/html.js';
import { branchOf, fieldOf, fits, hintOf, initial } from './schema.js';
import { Json, Numeric, Text, Values } from './inputs.js';
import { List, Mapping, Properties } from './parts.js';

const INPUTS = { values: Values, boolean: Values, number: Numeric, text: Text, json: Json };
const PARTS = { object: Properties, list: List, map: Mapping };
const BOOLEANS = [true, false];

export const Errors = ({ id, errors }) =>
  errors.length > 0 &&
  html`<p class="form-error" id=${id}>${[...new Set(errors.map(({ error }) => error))].slice(0, 3).join(' ')}</p>`;

const Choice = ({ branches, label, value, onChange, defs, ...rest }) => {
  const id = useId();
  const [chosen, setChosen] = useState(() => branchOf(branches, value, defs));
  const at = Math.min(chosen, branches.length - 1);
  const choose = (event) => {
    const next = Number(event.currentTarget.value);
    setChosen(next);
    onChange(initial(branches[next], defs));
  };
  return html`
    <div>
      <label for=${id}>${label}: which kind</label>
      <select id=${id} value=${String(at)} onChange=${choose}>
        ${branches.map((each, i) => {
          const { title, type } = fieldOf(each, defs).schema;
          return html`<option value=${String(i)}>
            ${title ?? 'Kind ' + (i + 1) + (type ? ' (' + type + ')' : '')}
          </option>`;
        })}
      </select>
    </div>
    <${Field}
      key=${at}
      ...${rest}
      schema=${branches[at]}
      label=${label}
      value=${value}
      onChange=${onChange}
      defs=${defs}
    />
  `;
};

/** `value` is undefined where nothing is given. `onChange` gets the next one. */
export const Field = (props) => {
  const { schema: given, defs, value, onChange, label, isRequired, place, check, depth = 0 } = props;
  const id = useId();
  const { kind: wanted, isNullable, schema, values, branches } = fieldOf(given, defs, depth);
  // What does not fit, such as what was written as JSON, stays what it is.
  const kind = value !== null && !fits(wanted, value) ? 'json' : wanted;
  const errors = check.get(place) ?? [];
  const hint = [schema.description, hintOf(schema)].filter(Boolean).join(' · ');
  const described = [hint && id + '-hint', errors.length > 0 && id + '-error'].filter(Boolean).join(' ');
  const Null =
    isNullable &&
    html`<label class="form-null">
      <input
        type="checkbox"
        checked=${value === null}
        aria-label=${label + ': null'}
        onChange=${(event) => onChange(event.currentTarget.checked ? null : initial(given, defs, depth))}
      />
      null
    </label>`;
  const notes = html`
    ${hint && html`<p class="form-hint" id=${id + '-hint'}>${hint.slice(0, 2000)}</p>`}
    <${Errors} id=${id + '-error'} errors=${errors} />
    ${Null}
  `;
  const mark = isRequired ? html`<span class="quiet"> (required)</span>` : '';
  if (value === null && isNullable)
    return html`<fieldset class="form-field">
      <legend>${label}${mark}</legend>
      ${notes}
    </fieldset>`;
  if (kind === 'choice')
    return html`<fieldset class="form-field">
      <legend>${label}${mark}</legend>
      ${notes}
      <${Choice} ...${props} branches=${branches} />
    </fieldset>`;
  const Part = PARTS[kind];
  if (Part !== undefined) {
    if (value === undefined && !isRequired)
      return html`<div class="form-field">
        ${notes}
        <button type="button" class="plain" onClick=${() => onChange(initial(given, defs, depth))}>Add ${label}</button>
      </div>`;
    return html`<fieldset class="form-field" aria-describedby=${described || undefined}>
      <legend>${label}${mark}</legend>
      ${notes}
      <${Part} ...${props} schema=${schema} depth=${depth} />
      ${
        !isRequired &&
        depth > 0 &&
        html`<button type="button" class="plain" onClick=${() => onChange(undefined)}>Remove ${label}</button>`
      }
    </fieldset>`;
  }
  const Input = INPUTS[kind];
  return html`<div class="form-field">
    <label for=${id}>${label}${mark}</label>
    <${Input}
      id=${id}
      label=${label}
      value=${value}
      onChange=${onChange}
      isRequired=${isRequired}
      schema=${schema}
      values=${kind === 'boolean' ? BOOLEANS : values}
      invalid=${errors.length > 0}
      described=${described || undefined}
    />
    ${notes}
  </div>`;
};
