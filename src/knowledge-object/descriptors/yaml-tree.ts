import { isMap, isScalar, isSeq } from 'yaml';
import { importRefused } from '../../lib/errors.ts';
import type { Scalar } from 'yaml';
import { parseYaml } from './yaml-document.ts';
import type { YamlNode } from './yaml-document.ts';

export type { YamlNode };

/** A descriptor as a tree of nodes that know their source text and their line. */
export interface YamlTree {
  /** The name of the file, for messages. */
  readonly file: string;
  /** The outermost map. */
  readonly root: YamlMap;
  /** A map by the text of its keys, merge keys (`<<`) followed, of equal keys the last; undefined when it is none. */
  readonly map: (node: YamlNode) => YamlMap | undefined;
  /** One entry of a map; undefined when it is missing, or the node is no map. */
  readonly get: (node: YamlNode, key: string) => YamlEntry | undefined;
  /** The items of a list; undefined when it is none. */
  readonly list: (node: YamlNode) => readonly YamlNode[] | undefined;
  /** A scalar as it is written, without quotes: `1.0` gives "1.0"; undefined for null and for what is no scalar. */
  readonly text: (node: YamlNode) => string | undefined;
  /** The value as JSON data. @throws importRefused when its aliases make it endless or huge. */
  readonly value: (node: YamlNode) => unknown;
}

export type YamlMap = ReadonlyMap<string, YamlEntry>;

export interface YamlEntry {
  readonly node: YamlNode;
  /** Line of the key, from 1. */
  readonly line: number;
}

const MAX_VISITS = 1_000_000;
const MAX_DEPTH = 50;

/**
 * Reads a descriptor: a YAML file with a map at its top.
 * @throws importRefused with the file and, where there is one, the line.
 */
export function readYamlTree(source: string, file: string): YamlTree {
  const { document, resolve, line } = parseYaml(source, file);
  const maps = new Map<unknown, YamlMap>();
  let visits = 0;
  // Aliases and merge keys let a small file describe a huge one; what is looked at counts, each time.
  const visited = <T>(count: number, what: T): T => {
    visits += count;
    if (visits > MAX_VISITS) throw importRefused(`${file} uses its aliases (*) or merge keys (<<) too often`);
    return what;
  };

  function collect(map: unknown, into: Map<string, YamlEntry>, depth: number): void {
    if (!isMap(map) || depth > MAX_DEPTH) return;
    const pairs = visited(map.items.length, map.items).map((pair) => ({
      key: keyText(resolve(pair.key)),
      node: resolve(pair.value),
      line: line(pair.key as YamlNode),
    }));
    for (const { key, node } of pairs) {
      // Of several merged maps the first wins.
      if (key === '<<')
        for (const one of isSeq(node) ? [...node.items].reverse() : [node]) collect(resolve(one), into, depth + 1);
    }
    for (const { key, ...entry } of pairs) if (key !== undefined && key !== '<<') into.set(key, entry);
  }

  function map(node: YamlNode): YamlMap | undefined {
    const target = resolve(node);
    if (!isMap(target)) return undefined;
    let entries = maps.get(target);
    if (entries === undefined) {
      const into = new Map<string, YamlEntry>();
      collect(target, into, 0);
      maps.set(target, (entries = into));
    }
    return entries;
  }

  function value(node: YamlNode, depth: number): unknown {
    if (depth > MAX_DEPTH)
      throw importRefused(`${file} is nested too deeply, or an alias (*) refers to what it stands in`);
    const target = resolve(node);
    if (isSeq(target))
      return visited(target.items.length, target.items).map((item) => value(item as YamlNode, depth + 1));
    const entries = map(target);
    if (entries === undefined)
      return isScalar(target) ? visited(target.source?.length ?? 0, scalarValue(target)) : null;
    const pairs = [...visited(entries.size, entries)];
    return Object.fromEntries(pairs.map(([key, entry]) => [key, value(entry.node, depth + 1)]));
  }

  const root = map(document.contents);
  if (root === undefined) {
    throw importRefused(`${file} must hold a map ("key: value" lines), but ${found(document.contents)}`);
  }
  return {
    file,
    root,
    map: (node) => {
      const entries = map(node);
      return visited(entries?.size ?? 0, entries);
    },
    get: (node, key) => map(node)?.get(key),
    list: (node) => {
      const list = resolve(node);
      return isSeq(list) ? visited(list.items.length, list.items).map(resolve) : undefined;
    },
    text: (node) => {
      const scalar = resolve(node);
      return isScalar(scalar) && scalar.value !== null ? scalar.source : undefined;
    },
    value: (node) => value(node, 0),
  };
}

const scalarValue = ({ value, source }: Scalar): unknown =>
  value === null || typeof value === 'boolean' || Number.isFinite(value) ? value : source;

const keyText = (key: YamlNode): string | undefined => (isScalar(key) ? key.source : undefined);

const found = (contents: YamlNode): string =>
  isSeq(contents) ? 'it holds a list' : isScalar(contents) && contents.value !== null ? 'it holds text' : 'it is empty';
