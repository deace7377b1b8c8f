/** Results as columns: those that the response schema names, else one of JSON. */
import { fieldsOf, isObject } from '../lib/fields.ts';
import type { JsonTypes, SchemaNode } from './schema-fields.ts';

const RESULT_COLUMN = 'result';
/** Most names of fields without a column that are reported. */
const MOST_LOST = 20;

export interface ResultColumn {
  readonly name: string;
  readonly types: JsonTypes;
}

interface Branch {
  readonly column: number | undefined;
  readonly inner: ReadonlyMap<string, Branch>;
}

export const resultOf = (answer: string): unknown => fieldsOf(JSON.parse(answer))['result'];

export class ResultColumns {
  readonly columns: readonly ResultColumn[];
  readonly lost: Set<string>;
  readonly #root: Branch | undefined;

  /** `taken`: names that other columns have. */
  constructor(schema: SchemaNode | undefined, taken: readonly string[], lost: Iterable<string> = []) {
    const fields = [...(schema?.fields() ?? [])];
    const others = new Set(taken);
    const nameOf = (name: string): string => (others.has(name) ? `${RESULT_COLUMN}.${name}` : name);
    this.columns =
      fields.length === 0
        ? [{ name: nameOf(RESULT_COLUMN), types: schema?.types ?? new Set() }]
        : fields.map(({ path, types }) => ({ name: nameOf(path.join('.')), types }));
    this.lost = new Set(lost);
    this.#root = fields.length === 0 ? undefined : branchOf(fields.map(({ path }, column) => ({ path, column })));
  }

  get names(): readonly string[] {
    return this.columns.map(({ name }) => name);
  }

  /** One for each column, of an answer that holds a result. */
  valuesOf(answer: string): unknown[] {
    const result = resultOf(answer);
    const values = Array<unknown>(this.columns.length).fill(undefined);
    if (this.#root === undefined) values[0] = result;
    else this.#spread(result, this.#root, '', values);
    return values;
  }

  #spread(value: unknown, { column, inner }: Branch, name: string, values: unknown[]): void {
    if (column !== undefined) values[column] = value;
    else if (isObject(value)) {
      for (const [key, each] of Object.entries(value)) {
        const branch = inner.get(key);
        const within = name === '' ? key : `${name}.${key}`;
        if (branch === undefined) this.#lose(within);
        else this.#spread(each, branch, within, values);
      }
    } else if (value !== null && value !== undefined) this.#lose(name === '' ? RESULT_COLUMN : name);
  }

  #lose(name: string): void {
    if (this.lost.size < MOST_LOST) this.lost.add(name);
  }
}

function branchOf(fields: readonly { readonly path: readonly string[]; readonly column: number }[], depth = 0): Branch {
  const leaf = fields.find(({ path }) => path.length === depth);
  const inner = new Map<string, Branch>();
  for (const key of new Set(fields.flatMap(({ path }) => path.slice(depth, depth + 1)))) {
    inner.set(
      key,
      branchOf(
        fields.filter(({ path }) => path[depth] === key),
        depth + 1,
      ),
    );
  }
  return { column: leaf?.column, inner };
}
