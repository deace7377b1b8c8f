/**
 * Schemas of endpoints as those of tools: JSON Schema 2020-12 with an object at the root, and without references, which few
 * assistants follow. A schema that holds itself keeps those that it cannot do without, all of them local.
 */
import { isObject } from '../../lib/json.ts';
import type { Fields } from '../../lib/json.ts';
import type { FormSchema } from '../../execution/validation/form-thread.ts';
import { plainValue } from './plain-words.ts';

export interface ToolSchema {
  readonly [key: string]: unknown;
  readonly type: 'object';
}

export interface WrittenSchema {
  readonly schema: ToolSchema;
  /** The value is a property of the object. */
  readonly isWrapped: boolean;
}

/** Parts of one schema once references are written out; more would fill the memory of an assistant. */
const MOST_PARTS = 1500;
const MOST_BYTES = 64 * 1024;
const REFERENCE = /^#\/\$defs\/(.+)$/s;

/** `key`: under which a value stands that is no object. Undefined where nothing is known of it. */
export function toolSchema(form: FormSchema | null, key: 'input' | 'result'): WrittenSchema | undefined {
  if (!isObject(form) || Object.keys(form).length === 0) return undefined;
  const written = plainValue(writtenOut(form)) as Fields;
  if (Buffer.byteLength(JSON.stringify(written)) > MOST_BYTES) {
    const isWrapped = !isOfObjects(written, written);
    return { schema: isWrapped ? { type: 'object', properties: { [key]: {} }, required: [key] } : OBJECT, isWrapped };
  }
  if (isOfObjects(written, written)) return { schema: { ...written, type: 'object' }, isWrapped: false };
  const { $defs, ...value } = written;
  return {
    schema: {
      ...{ type: 'object', properties: { [key]: value }, required: [key] },
      ...($defs === undefined ? {} : { $defs }),
    },
    isWrapped: true,
  };
}

export const OBJECT: ToolSchema = Object.freeze({ type: 'object' as const });

/** Whether what it allows is objects, as far as it says so. */
function isOfObjects(schema: unknown, root: Fields, depth = 0): boolean {
  if (!isObject(schema) || depth > 20) return false;
  const { type, properties, allOf, anyOf, oneOf, $ref } = schema;
  if (type !== undefined) return type === 'object';
  if (isObject(properties)) return true;
  const inner = (each: unknown): boolean => isOfObjects(each, root, depth + 1);
  if (typeof $ref === 'string') return inner(targetOf($ref, root));
  if (Array.isArray(allOf) && allOf.some(inner)) return true;
  return [anyOf, oneOf].some((each) => Array.isArray(each) && each.length > 0 && each.every(inner));
}

function targetOf(reference: string, { $defs }: Fields): unknown {
  const [, name] = REFERENCE.exec(reference) ?? [];
  return isObject($defs) && name !== undefined && Object.hasOwn($defs, name) ? $defs[name] : undefined;
}

class TooLarge extends Error {}

/** Without references. As it is, where it would become too large. */
export function writtenOut(form: Fields): Fields {
  try {
    return new Writer(form).write();
  } catch (thrown) {
    if (thrown instanceof TooLarge) return form;
    throw thrown;
  }
}

class Writer {
  readonly #root: Fields;
  /** References that are being written out, the outermost first. */
  readonly #within: string[] = [];
  /** Those that lead back to a schema which holds them. */
  readonly #kept = new Set<string>();
  #parts = 0;

  constructor(root: Fields) {
    this.#root = root;
  }

  write(): Fields {
    const written = this.#schema({ ...this.#root, $defs: undefined });
    const schema = isObject(written) ? written : {};
    if (this.#kept.size === 0) return schema;
    const $defs: { [name: string]: unknown } = {};
    // What stays may refer to more that stays.
    for (const reference of this.#kept) {
      const name = REFERENCE.exec(reference)?.[1];
      if (name === undefined) continue;
      this.#within.push(reference);
      $defs[name] = this.#schema(targetOf(reference, this.#root));
      this.#within.pop();
    }
    return { ...schema, $defs };
  }

  #schema(value: unknown): unknown {
    if (++this.#parts > MOST_PARTS) throw new TooLarge();
    if (Array.isArray(value)) return value.map((each) => this.#schema(each));
    if (!isObject(value)) return value;
    const written: { [key: string]: unknown } = {};
    for (const [key, word] of Object.entries(value)) {
      if (key === '$ref' || word === undefined) continue;
      written[key] = VALUES.has(key) ? word : key === 'properties' ? this.#properties(word) : this.#schema(word);
    }
    const { $ref } = value;
    return typeof $ref === 'string' ? this.#follow($ref, written) : written;
  }

  /** A property may have any name, also that of a word of schemas. */
  #properties(value: unknown): unknown {
    if (!isObject(value)) return {};
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, this.#schema(each)]));
  }

  #follow(reference: string, beside: Fields): unknown {
    const target = targetOf(reference, this.#root);
    if (target === undefined) return beside;
    if (this.#within.includes(reference)) {
      this.#kept.add(reference);
      return { ...beside, $ref: reference };
    }
    this.#within.push(reference);
    const found = this.#schema(target);
    this.#within.pop();
    if (!isObject(found)) return Object.keys(beside).length === 0 ? found : { ...beside, allOf: [found] };
    const tells = Object.keys(beside).every((key) => TELLING.has(key));
    if (tells) return { ...found, ...beside };
    const { allOf } = beside;
    return { ...beside, allOf: [...(Array.isArray(allOf) ? (allOf as unknown[]) : []), found] };
  }
}

/** Words whose values are no schemas. */
const VALUES: ReadonlySet<string> = new Set(['const', 'enum', 'default', 'examples', 'required', 'dependentRequired']);
const TELLING: ReadonlySet<string> = new Set(['title', 'description', 'default', 'examples', 'deprecated']);
