/** Which column is which input, and what of a record stands beside its result. */
import { isObject, jsonOr } from '../../src/lib/json.ts';
import { usageFailure } from '../lib/exit.ts';
import type { JsonTypes, SchemaNode } from './schema-fields.ts';
import type { ColumnKind, RawRecord, Source } from './source.ts';

/** A record as it is sent, and what stands beside its result. */
export interface InputRecord {
  readonly line: number;
  /** JSON text on one line, or why it cannot be sent. */
  readonly input: string | Error;
  /** Values of the columns that `Mapping.beside` names. */
  readonly beside: readonly unknown[];
}

export interface MappingOptions {
  /** `input=column`. */
  readonly map: readonly string[];
  readonly join: boolean;
  readonly idColumn: string | undefined;
}

export interface Mapping {
  /** Names of what stands beside the results. */
  readonly beside: readonly string[];
  /** Kind of each column. */
  readonly kinds: readonly ColumnKind[];
  /** Which columns it reads; undefined where there are none. */
  readonly used: readonly number[] | undefined;
  readonly notes: readonly string[];
  readonly read: (raw: RawRecord) => InputRecord;
}

interface Assigned {
  readonly column: number;
  readonly path: readonly (string | number)[];
  readonly read: CellReader;
}

/** The number of the line stands there where nothing else tells which record a result is of. */
export const LINE_COLUMN = 'line';
const INPUT_COLUMN = 'input';

/** @throws CommandFailure where columns and inputs do not go together. */
export function mappingOf(
  { columns, kinds }: Pick<Source, 'columns' | 'kinds'>,
  schema: SchemaNode | undefined,
  options: MappingOptions,
  name: string,
): Mapping {
  return columns === undefined
    ? ofJson(parseMap(options.map), options)
    : ofColumns(columns, kinds, schema, parseMap(options.map), options, name);
}

/** By input, its column. */
function parseMap(map: readonly string[]): ReadonlyMap<string, string> {
  const parsed = new Map<string, string>();
  for (const each of map) {
    const at = each.indexOf('=');
    if (at < 1 || at === each.length - 1) throw usageFailure(`--map ${each}: write it as input=column`);
    const input = each.slice(0, at);
    if (parsed.has(input)) throw usageFailure(`--map gives the input ${input} twice`);
    parsed.set(input, each.slice(at + 1));
  }
  return parsed;
}

function ofColumns(
  columns: readonly string[],
  kinds: readonly ColumnKind[] | undefined,
  schema: SchemaNode | undefined,
  map: ReadonlyMap<string, string>,
  { join, idColumn }: MappingOptions,
  name: string,
): Mapping {
  const place = (column: string, why: string): number => {
    const at = columns.indexOf(column);
    if (at < 0) throw usageFailure(`${why}: ${name} has no column ${column}; it has ${listed(columns)}`);
    return at;
  };
  const renamed = new Map([...map].map(([input, column]) => [place(column, `--map ${input}=${column}`), input]));
  const known = schema?.names === undefined ? undefined : schema;
  const assigned: Assigned[] = [];
  const unsent: string[] = [];
  for (const [column, own] of columns.entries()) {
    const input = renamed.get(column) ?? (own === '' || map.has(own) ? undefined : own);
    if (input === undefined) continue;
    const found = fieldAt(known, input);
    if (found === undefined && known !== undefined && !renamed.has(column)) unsent.push(own);
    else
      assigned.push({
        column,
        path: found?.path ?? input.split('.'),
        read: cellReader(found?.node.types ?? new Set()),
      });
  }
  const inputs = known === undefined ? [] : [...known.fields()];
  if (assigned.length === 0)
    throw usageFailure(
      `No column of ${name} is an input: it has ${listed(columns)}, and the inputs are ${listed(inputs.map(({ path }) => path.join('.')))}: ` +
        'name them with --map input=column, or its --delimiter if that is what is wrong',
    );
  checkPaths(assigned, columns, name);
  const given = new Set(assigned.map(({ path }) => path[0]));
  const missing = inputs.filter(({ isRequired, path }) => isRequired && !given.has(path[0] ?? ''));
  const id = idColumn === undefined ? undefined : place(idColumn, '--id-column');
  const beside = join ? columns.flatMap((own, i) => (own === '' ? [] : [i])) : id === undefined ? undefined : [id];
  return {
    beside: beside?.map((i) => columns[i] ?? '') ?? [LINE_COLUMN],
    kinds: beside?.map((i) => kinds?.[i] ?? 'string') ?? ['integer'],
    used: [...new Set([...assigned.map(({ column }) => column), ...(beside ?? [])])],
    notes: [
      ...(unsent.length === 0 ? [] : [`Not sent, since no input has the name: ${listed(unsent)}`]),
      ...(missing.length === 0
        ? []
        : [`Without a column: the required ${listed(missing.map(({ path }) => path.join('.')))}`]),
    ],
    read: ({ line, value }) => {
      if (!isCells(value)) return { line, input: asError(value), beside: [line] };
      const input: Container = Object.create(null) as Container;
      for (const { column, path, read } of assigned) {
        const cell = value[column];
        if (cell === undefined || (cell === '' && kinds === undefined)) continue;
        assign(input, path, read(cell));
      }
      return { line, input: JSON.stringify(input), beside: beside?.map((i) => value[i]) ?? [line] };
    },
  };
}

function ofJson(map: ReadonlyMap<string, string>, { join, idColumn }: MappingOptions): Mapping {
  const beside = join ? [INPUT_COLUMN] : idColumn === undefined ? [LINE_COLUMN] : [idColumn];
  const isSentAsItIs = map.size === 0 && !join && idColumn === undefined;
  const moves = [...map].map(([input, column]) => ({ to: input.split('.'), from: column.split('.') }));
  return {
    beside,
    kinds: [join ? 'json' : idColumn === undefined ? 'integer' : 'text'],
    used: undefined,
    notes: [],
    read: ({ line, value: text }) => {
      if (typeof text !== 'string') return { line, input: asError(text), beside: [line] };
      if (isSentAsItIs) return { line, input: text, beside: [line] };
      let value: unknown;
      try {
        value = JSON.parse(text);
      } catch (thrown) {
        return { line, input: new Error(`The record is not JSON: ${String(thrown)}`), beside: [undefined] };
      }
      const whole = [join ? value : valueAt(value, (idColumn ?? '').split('.'))];
      if (moves.length === 0 || !isObject(value)) return { line, input: text, beside: whole };
      const input = Object.assign(Object.create(null) as Container, value);
      const values = moves.map(({ from }) => valueAt(value, from));
      for (const { from } of moves) if (from.length === 1) delete input[from[0] ?? ''];
      for (const [i, { to }] of moves.entries()) if (values[i] !== undefined) assign(input, to, values[i]);
      return { line, input: JSON.stringify(input), beside: whole };
    },
  };
}

type Container = Record<string, unknown>;

const isCells = (value: RawRecord['value']): value is readonly unknown[] => Array.isArray(value);
const asError = (value: unknown): Error => (value instanceof Error ? value : new Error(String(value)));
const listed = (names: readonly string[]): string =>
  names.length === 0 ? 'none' : names.slice(0, 30).join(', ') + (names.length > 30 ? ', …' : '');

function valueAt(value: unknown, path: readonly string[]): unknown {
  const whole = path.join('.');
  if (isObject(value) && Object.hasOwn(value, whole)) return value[whole];
  return path.reduce<unknown>((at, name) => (isObject(at) && Object.hasOwn(at, name) ? at[name] : undefined), value);
}

/** A property of that name goes before what dots lead to. */
function fieldAt(
  schema: SchemaNode | undefined,
  name: string,
): { readonly path: readonly (string | number)[]; readonly node: SchemaNode } | undefined {
  const whole = schema?.property(name);
  if (whole !== undefined) return { path: [name], node: whole };
  const path: (string | number)[] = [];
  let node = schema;
  for (const part of name.split('.')) {
    const element = /^\d{1,4}$/.test(part) ? node?.items : undefined;
    path.push(element === undefined ? part : Number(part));
    node = element ?? node?.property(part);
    if (node === undefined) return undefined;
  }
  return node === undefined ? undefined : { path, node };
}

/** No input may be a value and hold others at once. */
function checkPaths(assigned: readonly Assigned[], columns: readonly string[], name: string): void {
  const seen = new Map<string, number>();
  for (const { path, column } of assigned) {
    const before = seen.get(JSON.stringify(path));
    if (before !== undefined)
      throw usageFailure(
        `${name}: the columns ${columns[before]} and ${columns[column]} are the same input: leave one out, or rename it`,
      );
    seen.set(JSON.stringify(path), column);
  }
  for (const { path, column } of assigned) {
    for (let i = 1; i < path.length; i++) {
      const outer = seen.get(JSON.stringify(path.slice(0, i)));
      if (outer !== undefined)
        throw usageFailure(
          `${name}: the column ${columns[outer]} is a value, and ${columns[column]} a part of it: rename one`,
        );
    }
  }
}

function assign(target: Container, path: readonly (string | number)[], value: unknown): void {
  let at: Container | unknown[] = target;
  for (const [i, key] of path.entries()) {
    const holder = at as Record<string | number, unknown>;
    if (i === path.length - 1) {
      holder[key] = value;
      return;
    }
    const inner = holder[key];
    // What stands there already and holds nothing makes room for its parts.
    at =
      typeof inner === 'object' && inner !== null
        ? (inner as Container)
        : (holder[key] = typeof path[i + 1] === 'number' ? [] : (Object.create(null) as Container));
  }
}

// "Text from a CSV becomes the number, boolean or array that the schema says"; what does not fit stays text.

const NUMBER = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i;

/** Gives the value that a cell stands for. */
type CellReader = (cell: unknown) => unknown;

function cellReader(types: JsonTypes): CellReader {
  const read = textReader(types);
  const isText = types.has('string') && !types.has('number') && !types.has('integer');
  return (cell) => {
    if (typeof cell === 'string') return read(cell);
    // A number would lose digits.
    if (typeof cell === 'bigint') return String(cell);
    return isText && typeof cell === 'number' ? String(cell) : cell;
  };
}

function textReader(types: JsonTypes): (text: string) => unknown {
  const hasNumbers = types.has('number') || types.has('integer');
  const isWhole = types.has('integer') && !types.has('number');
  const hasBooleans = types.has('boolean');
  const hasParts = types.has('array') || types.has('object');
  if (!hasNumbers && !hasBooleans && !hasParts) return (text) => text;
  return (text) => {
    const bare = text.trim();
    if (hasNumbers && NUMBER.test(bare)) {
      const number = Number(bare);
      // A number that loses digits is another number.
      const isExact = !Number.isInteger(number) || Number.isSafeInteger(number) || /[.e]/i.test(bare);
      if (Number.isFinite(number) && isExact && (!isWhole || Number.isInteger(number))) return number;
    }
    if (hasBooleans) {
      const word = bare.toLowerCase();
      if (word === 'true') return true;
      if (word === 'false') return false;
    }
    if (hasParts && /^[[{]/.test(bare)) {
      const value = jsonOr(bare);
      if (types.has('array') ? Array.isArray(value) || (types.has('object') && isObject(value)) : isObject(value))
        return value;
    }
    return text;
  };
}
