/** What OpenAPI 3.0 writes otherwise than JSON Schema 2020-12. */

export interface DialectOptions {
  /** The document is of OpenAPI 3.0. */
  readonly isOld: boolean;
  /** Values are parts of what the schemas describe: what is missing in them is no error. */
  readonly isPartial: boolean;
  /** What the other side alone writes: `readOnly` in a request, `writeOnly` in a result. */
  readonly ofOtherSide: 'readOnly' | 'writeOnly' | undefined;
}

type Schema = Record<string, unknown>;

const LIMITS = [
  ['exclusiveMinimum', 'minimum'],
  ['exclusiveMaximum', 'maximum'],
] as const;

/** The same schema in the words of 2020-12; those of its parts are as they were. */
export function inNewWords(source: Readonly<Schema>, { isOld, isPartial, ofOtherSide }: DialectOptions): Schema {
  const schema: Schema = { ...source };
  if (isOld && typeof schema['$ref'] === 'string') {
    // "This object cannot be extended with additional properties"; many say `nullable` beside it.
    const reference = { $ref: schema['$ref'] };
    return schema['nullable'] === true ? { anyOf: [reference, { type: 'null' }] } : reference;
  }
  exclusiveLimits(schema);
  if (Array.isArray(schema['items'])) {
    schema['prefixItems'] ??= schema['items'];
    delete schema['items'];
  }
  if (isOld && schema['nullable'] === true) orNull(schema);
  if (ofOtherSide !== undefined) withoutOtherSide(schema, ofOtherSide);
  if (isPartial) forParts(schema);
  return schema;
}

function exclusiveLimits(schema: Schema): void {
  for (const [exclusive, limit] of LIMITS) {
    if (typeof schema[exclusive] !== 'boolean') continue;
    if (schema[exclusive] && limit in schema) {
      schema[exclusive] = schema[limit];
      delete schema[limit];
    } else delete schema[exclusive];
  }
}

function orNull(schema: Schema): void {
  if (typeof schema['type'] === 'string') schema['type'] = [schema['type'], 'null'];
  if (Array.isArray(schema['enum'])) schema['enum'] = [...(schema['enum'] as unknown[]), null];
  for (const key of ['anyOf', 'oneOf']) {
    const list = schema[key];
    if (Array.isArray(list)) schema[key] = [...(list as unknown[]), { type: 'null' }];
  }
  const all = schema['allOf'];
  if (!Array.isArray(all)) return;
  const either = { anyOf: [{ allOf: all }, { type: 'null' }] };
  if (schema['anyOf'] === undefined) schema['anyOf'] = either.anyOf;
  else schema['allOf'] = [either];
  if (schema['anyOf'] === either.anyOf) delete schema['allOf'];
}

/** "If the property … is in the required list, the required will take effect on the response only" (OpenAPI 3.0). */
function withoutOtherSide(schema: Schema, side: string): void {
  const { required, properties } = schema;
  if (!Array.isArray(required) || typeof properties !== 'object' || properties === null) return;
  const isTheirs = (name: unknown): boolean => {
    const property: unknown = Object.hasOwn(properties, String(name))
      ? (properties as Schema)[String(name)]
      : undefined;
    return typeof property === 'object' && property !== null && (property as Schema)[side] === true;
  };
  schema['required'] = required.filter((name) => !isTheirs(name));
}

const OF_WHOLES = ['required', 'minProperties', 'dependentRequired', 'if', 'then', 'else', 'not'];

function forParts(schema: Schema): void {
  for (const key of OF_WHOLES) delete schema[key];
  if (!Array.isArray(schema['oneOf'])) return;
  schema['anyOf'] ??= schema['oneOf'];
  delete schema['oneOf'];
}
