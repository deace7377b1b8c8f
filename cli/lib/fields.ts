export { fieldsOf, isObject } from '../../src/lib/fields.ts';
export type { Fields } from '../../src/lib/fields.ts';
