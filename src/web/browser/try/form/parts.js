// Fields for values with parts: objects with names that are known, lists, and objects with any names.
import { html, useRef, useState } from '../../shared/html.js';
import { placeBelow } from './check.js';
import { Field } from './field.js';
import { initial } from './schema.js';
import { countOf } from '../../shared/parts.js';

const without = (value, key) => Object.fromEntries(Object.entries(value).filter(([each]) => each !== key));

const withKey = (value, key, next) => (next === undefined ? without(value, key) : { ...value, [key]: next });

export const Properties = ({ schema, defs, value = {}, onChange, place, check, depth }) => {
  const { properties, required = [] } = schema;
  // Names that the schema does not know are sent too.
  const others = Object.keys(value).filter((key) => !Object.hasOwn(properties, key));
  // What is given first keeps its place, so that JSON and form show one order.
  const field = (key, of) =>
    html`<${Field}
      key=${key}
      schema=${of}
      defs=${defs}
      label=${key}
      value=${Object.hasOwn(value, key) ? value[key] : undefined}
      isRequired=${required.includes(key)}
      place=${placeBelow(place, key)}
      check=${check}
      depth=${depth + 1}
      onChange=${(next) => onChange(withKey(value, key, next))}
    />`;
  return [...Object.entries(properties).map(([key, of]) => field(key, of)), ...others.map((key) => field(key, {}))];
};

export const List = ({ schema, defs, label, value = [], onChange, place, check, depth }) => {
  // Elements keep their fields when one before them goes.
  const ids = useRef([]);
  const last = useRef(0);
  while (ids.current.length < value.length) ids.current.push(++last.current);
  ids.current.length = value.length;
  const remove = (i) => {
    ids.current.splice(i, 1);
    onChange(value.toSpliced(i, 1));
  };
  // A list has no holes: what is not given is null there.
  const add = () => onChange([...value, initial(schema.items, defs, depth + 1) ?? null]);
  return html`
    <p class="form-hint" role="status">${countOf(value.length, 'element')}</p>
    ${value.map(
      (each, i) =>
        html`<div class="form-element" key=${ids.current[i]}>
          <${Field}
            schema=${schema.items}
            defs=${defs}
            label=${label + ' ' + (i + 1)}
            value=${each === null ? emptyOf(schema.items, defs, depth) : each}
            isRequired=${true}
            place=${placeBelow(place, i)}
            check=${check}
            depth=${depth + 1}
            onChange=${(next) => onChange(value.with(i, next ?? null))}
          />
          <button type="button" class="plain" onClick=${() => remove(i)}>Remove ${label} ${i + 1}</button>
        </div>`,
    )}
    <button type="button" class="plain" onClick=${add}>Add to ${label}</button>
  `;
};

/** A field of its own says where null is meant. */
const emptyOf = (items, defs, depth) => (initial(items, defs, depth + 1) === undefined ? undefined : null);

export const Mapping = ({ schema, defs, label, value = {}, onChange, place, check, depth }) => {
  const [name, setName] = useState('');
  const isTaken = Object.hasOwn(value, name) || name === '__proto__';
  const add = () => {
    onChange({ ...value, [name]: initial(schema.additionalProperties, defs, depth + 1) ?? null });
    setName('');
  };
  return html`
    ${Object.entries(value).map(
      ([key, each]) =>
        html`<div class="form-element" key=${key}>
          <${Field}
            schema=${schema.additionalProperties}
            defs=${defs}
            label=${key}
            value=${each === null ? undefined : each}
            isRequired=${true}
            place=${placeBelow(place, key)}
            check=${check}
            depth=${depth + 1}
            onChange=${(next) => onChange({ ...value, [key]: next ?? null })}
          />
          <button type="button" class="plain" onClick=${() => onChange(without(value, key))}>Remove ${key}</button>
        </div>`,
    )}
    <label
      >Name of another in ${label} <input value=${name} onInput=${(event) => setName(event.currentTarget.value)}
    /></label>
    <button type="button" class="plain" disabled=${name === '' || isTaken} onClick=${add}>Add to ${label}</button>
  `;
};
