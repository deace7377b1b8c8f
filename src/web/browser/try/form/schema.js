// What of a schema a form can show. Authors write schemas: whatever is followed here is bounded.

const MOST_STEPS = 60;
/** Fields of an object, elements of a list, and values to choose from: of more, people write JSON. */
const MOST_FIELDS = 150;
const MOST_ELEMENTS = 100;
const MOST_VALUES = 500;
/** Levels of objects and lists. */
const MOST_DEPTH = 8;

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);

const definitionOf = (ref, defs) => {
  const [, name] = /^#\/\$defs\/([^/]+)$/.exec(ref) ?? [];
  return name !== undefined && Object.hasOwn(defs, name) ? defs[name] : {};
};

const merged = (one, other) => ({
  ...one,
  ...other,
  ...(one.properties && other.properties && { properties: { ...one.properties, ...other.properties } }),
  ...(one.required && other.required && { required: [...one.required, ...other.required] }),
});

/** One schema in place of what it refers to and is put together from. `true` and `{}` allow anything. */
export function resolved(schema, defs) {
  let steps = 0;
  const walk = (each) => {
    if (!isObject(each) || ++steps > MOST_STEPS) return {};
    const { $ref, allOf, ...own } = each;
    const parts = [...($ref === undefined ? [] : [walk(definitionOf($ref, defs))]), ...(allOf ?? []).map(walk)];
    return [...parts, own].reduce(merged, {});
  };
  return walk(schema);
}

const typesOf = ({ type, properties }) =>
  type === undefined ? (properties === undefined ? [] : ['object']) : [type].flat();

/** Without the branch that allows null alone, which is a field of its own. */
const isNull = (schema, defs) => {
  const { type, const: only, enum: values } = resolved(schema, defs);
  return type === 'null' || only === null || (values?.length === 1 && values[0] === null);
};

/**
 * How a field looks: `kind` is one of `values`, `choice`, `object`, `list`, `map`, `boolean`, `number`, `text` and `json`.
 * @returns {{kind: string, isNullable: boolean, schema: any, values?: any[], branches?: any[]}}
 */
export function fieldOf(given, defs, depth = 0) {
  const schema = resolved(given, defs);
  const types = typesOf(schema);
  const isNullable = types.includes('null') || (schema.enum?.includes(null) ?? false);
  const others = types.filter((each) => each !== 'null');
  if ('const' in schema) return { kind: 'values', isNullable: false, schema, values: [schema.const] };
  if (schema.enum !== undefined) {
    const values = schema.enum.filter((each) => each !== null);
    return { kind: values.length > MOST_VALUES ? 'json' : 'values', isNullable, schema, values };
  }
  const branches = schema.oneOf ?? schema.anyOf;
  // Branches that only add what is required are nothing to choose from.
  if (branches !== undefined && branches.some((each) => isTelling(each, defs))) {
    const left = branches.filter((each) => !isNull(each, defs));
    const mayBeNull = isNullable || left.length < branches.length;
    const { oneOf: _one, anyOf: _any, title: _title, description: _description, ...rest } = schema;
    const all = left.map((each) => ({ allOf: [rest, each] }));
    if (all.length === 1) return { ...fieldOf(all[0], defs, depth), isNullable: mayBeNull };
    const constants = left.map((each) => resolved(each, defs));
    if (constants.every((each) => 'const' in each))
      return { kind: 'values', isNullable: mayBeNull, schema, values: constants.map((each) => each.const) };
    return { kind: left.length > MOST_VALUES ? 'json' : 'choice', isNullable: mayBeNull, schema, branches: all };
  }
  if (others.length > 1) {
    const all = others.map((type) => ({ ...schema, type, title: type }));
    return { kind: 'choice', isNullable, schema, branches: all };
  }
  return { kind: kindOf(others[0], schema, depth), isNullable, schema };
}

const isTelling = (branch, defs) => {
  const each = resolved(branch, defs);
  return ['type', 'const', 'enum', 'properties', 'oneOf', 'anyOf', 'items'].some((key) => key in each);
};

function kindOf(type, { properties, items, additionalProperties, prefixItems }, depth) {
  if (type === 'boolean') return 'boolean';
  if (type === 'number' || type === 'integer') return 'number';
  if (type === 'string') return 'text';
  if (depth >= MOST_DEPTH) return 'json';
  if (type === 'array') return items === undefined || prefixItems !== undefined ? 'json' : 'list';
  if (type !== 'object') return 'json';
  const fields = Object.keys(properties ?? {}).length;
  if (fields > MOST_FIELDS) return 'json';
  if (fields > 0) return 'object';
  return isObject(additionalProperties) ? 'map' : 'json';
}

/** Whether a value can be shown by the field: what was written as JSON may be anything. */
export function fits(kind, value) {
  if (value === undefined) return true;
  if (kind === 'object' || kind === 'map') return isObject(value) && Object.keys(value).length <= MOST_FIELDS;
  if (kind === 'list') return Array.isArray(value) && value.length <= MOST_ELEMENTS;
  // What is no number, or not true or false, was typed as text and stays it.
  if (kind === 'number') return typeof value === 'number' || typeof value === 'string';
  if (kind === 'text') return typeof value === 'string';
  if (kind === 'boolean') return typeof value === 'boolean';
  return true;
}

/** What a field begins with: what its author gives as default, else no more than it must have. */
export function initial(given, defs, depth = 0) {
  const { kind, schema, values, branches } = fieldOf(given, defs, depth);
  if (schema.default !== undefined) return schema.default;
  if (kind === 'values') return values.length === 1 ? values[0] : undefined;
  if (kind === 'choice') return initial(branches[0], defs, depth);
  if (kind === 'list') return [];
  if (kind === 'map') return {};
  if (kind === 'json') return { object: {}, array: [] }[typesOf(schema)[0]];
  if (kind !== 'object') return undefined;
  const required = Object.keys(schema.properties).filter((key) => schema.required?.includes(key));
  const entries = required.map((key) => [key, initial(schema.properties[key], defs, depth + 1)]);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

const typeOf = (value) => (Array.isArray(value) ? 'array' : isObject(value) ? 'object' : typeof value);

/** The branch that a value was most likely written for. */
export function branchOf(branches, value, defs) {
  const score = (branch) => {
    const { schema } = fieldOf(branch, defs);
    const types = typesOf(schema).map((type) => (type === 'integer' ? 'number' : type));
    if (types.length > 0 && !types.includes(typeOf(value))) return -1;
    if (!isObject(value)) return schema.enum === undefined || schema.enum.includes(value) ? 1 : 0;
    const properties = schema.properties ?? {};
    const isOther = ([key, each]) => {
      const only = Object.hasOwn(properties, key) ? resolved(properties[key], defs) : {};
      return ('const' in only && only.const !== each) || (only.enum !== undefined && !only.enum.includes(each));
    };
    if (Object.entries(value).some(isOther)) return -1;
    const known = Object.keys(value).filter((key) => Object.hasOwn(properties, key)).length;
    const missing = (schema.required ?? []).filter((key) => !Object.hasOwn(value, key)).length;
    return 1 + known - missing;
  };
  const scores = branches.map(score);
  return Math.max(0, scores.indexOf(Math.max(...scores)));
}

/** In the words of people. */
export function hintOf({ minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf, ...rest }) {
  const { minLength, maxLength, minItems, maxItems, format, type } = rest;
  return [
    type === 'integer' && 'a whole number',
    minimum !== undefined && `at least ${minimum}`,
    exclusiveMinimum !== undefined && `above ${exclusiveMinimum}`,
    maximum !== undefined && `at most ${maximum}`,
    exclusiveMaximum !== undefined && `below ${exclusiveMaximum}`,
    multipleOf !== undefined && `in steps of ${multipleOf}`,
    minLength > 1 && `at least ${minLength} characters`,
    maxLength !== undefined && `at most ${maxLength} characters`,
    minItems > 0 && `at least ${minItems}`,
    maxItems !== undefined && `at most ${maxItems}`,
    format !== 'date' && format,
  ]
    .filter(Boolean)
    .join(', ');
}
