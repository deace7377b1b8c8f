// Fields for values that have no parts, and for whatever a schema does not tell, as JSON.
import { html, useEffect, useRef, useState } from '../../shared/html.js';

const LONG_TEXT = 120;

const shown = (value) => (typeof value === 'string' ? value : JSON.stringify(value));

export const Values = ({ id, value, onChange, isRequired, values, invalid, described }) => {
  const at = values.findIndex((each) => JSON.stringify(each) === JSON.stringify(value));
  const isOther = value !== undefined && at < 0;
  const choose = ({ currentTarget }) =>
    currentTarget.value !== 'other' &&
    onChange(currentTarget.value === '' ? undefined : values[Number(currentTarget.value)]);
  return html`<select
    id=${id}
    value=${isOther ? 'other' : at < 0 ? '' : String(at)}
    aria-invalid=${invalid}
    aria-describedby=${described}
    onChange=${choose}
  >
    <option value="">${isRequired ? 'choose' : 'not given'}</option>
    ${isOther && html`<option value="other">${shown(value)}</option>`}
    ${values.map((each, i) => html`<option value=${String(i)}>${shown(each)}</option>`)}
  </select>`;
};

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** Keeps what is typed as it is; what is no number is sent as text, and marked by the check. */
export const Numeric = ({ id, value, onChange, invalid, described }) => {
  const numberIn = (text) => (NUMBER.test(text.trim()) ? Number(text) : text.trim() === '' ? undefined : text);
  const [text, setText] = useState(value === undefined ? '' : String(value));
  useEffect(() => {
    if (numberIn(text) !== value) setText(value === undefined ? '' : String(value));
  }, [value]);
  const change = ({ currentTarget }) => {
    setText(currentTarget.value);
    onChange(numberIn(currentTarget.value));
  };
  return html`<input
    id=${id}
    inputmode="decimal"
    autocomplete="off"
    value=${text}
    aria-invalid=${invalid}
    aria-describedby=${described}
    onInput=${change}
  />`;
};

export const Text = ({ id, value, onChange, isRequired, schema, invalid, described }) => {
  const change = ({ currentTarget }) =>
    onChange(currentTarget.value === '' && !isRequired ? undefined : currentTarget.value);
  const shared = { id, value: value ?? '', 'aria-invalid': invalid, 'aria-describedby': described, onInput: change };
  const isLong =
    schema.maxLength > LONG_TEXT || value?.length > LONG_TEXT || value?.includes('\n') || schema.contentMediaType;
  if (isLong) return html`<textarea rows="5" spellcheck="false" ...${shared}></textarea>`;
  const isDate = schema.format === 'date' && /^(?:\d{4}-\d\d-\d\d)?$/.test(value ?? '');
  return html`<input type=${isDate ? 'date' : 'text'} autocomplete="off" spellcheck="false" ...${shared} />`;
};

/** Takes what is JSON; while it is none, what was before is kept, and that is said. */
export const Json = ({ id, label, value, onChange, described }) => {
  const textOf = (each) => (each === undefined ? '' : JSON.stringify(each, undefined, 2));
  const [text, setText] = useState(() => textOf(value));
  const [problem, setProblem] = useState('');
  const own = useRef(value);
  useEffect(() => {
    if (own.current === value) return;
    own.current = value;
    setText(textOf(value));
    setProblem('');
  }, [value]);
  const change = ({ currentTarget }) => {
    setText(currentTarget.value);
    try {
      own.current = currentTarget.value.trim() === '' ? undefined : JSON.parse(currentTarget.value);
      setProblem('');
      onChange(own.current);
    } catch (error) {
      setProblem('This is not JSON yet, and what was before is kept: ' + error.message);
    }
  };
  return html`<textarea
      id=${id}
      rows="4"
      spellcheck="false"
      value=${text}
      aria-invalid=${problem !== ''}
      aria-describedby=${described}
      onInput=${change}
    ></textarea>
    <p class=${problem === '' ? 'form-hint' : 'form-error'} role="status">${problem || label + ' as JSON'}</p>`;
};
