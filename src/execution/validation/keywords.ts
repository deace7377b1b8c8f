/** The words of a schema that are checked, and what each must be: whatever else is written there never reaches the validator. */

/** How the value of a word is read. */
export type KeywordKind =
  | 'schema'
  | 'schemas'
  | 'properties'
  | 'number'
  | 'positive'
  | 'count'
  | 'flag'
  | 'names'
  | 'name lists'
  | 'types'
  | 'values'
  | 'value'
  | 'pattern'
  | 'format';

export const KEYWORDS: ReadonlyMap<string, KeywordKind> = new Map<string, KeywordKind>([
  ['type', 'types'],
  ['enum', 'values'],
  ['const', 'value'],
  ['multipleOf', 'positive'],
  ['maximum', 'number'],
  ['exclusiveMaximum', 'number'],
  ['minimum', 'number'],
  ['exclusiveMinimum', 'number'],
  ['maxLength', 'count'],
  ['minLength', 'count'],
  ['pattern', 'pattern'],
  ['format', 'format'],
  ['maxItems', 'count'],
  ['minItems', 'count'],
  ['uniqueItems', 'flag'],
  ['maxContains', 'count'],
  ['minContains', 'count'],
  ['maxProperties', 'count'],
  ['minProperties', 'count'],
  ['required', 'names'],
  ['dependentRequired', 'name lists'],
  ['properties', 'properties'],
  ['patternProperties', 'properties'],
  ['dependentSchemas', 'properties'],
  ['additionalProperties', 'schema'],
  ['propertyNames', 'schema'],
  ['unevaluatedProperties', 'schema'],
  ['items', 'schema'],
  ['prefixItems', 'schemas'],
  ['contains', 'schema'],
  ['unevaluatedItems', 'schema'],
  ['allOf', 'schemas'],
  ['anyOf', 'schemas'],
  ['oneOf', 'schemas'],
  ['not', 'schema'],
  ['if', 'schema'],
  ['then', 'schema'],
  ['else', 'schema'],
]);

/** Words whose schemas are of the value itself, and not of something in it. */
export const IN_PLACE: ReadonlySet<string> = new Set([
  ...['allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else', 'dependentSchemas'],
]);

export const TYPES: ReadonlySet<string> = new Set([
  ...['array', 'boolean', 'integer', 'null', 'number', 'object', 'string'],
]);
