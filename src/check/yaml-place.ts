/** A YAML or JSON text as data, with the line of each of its values. */
import { isMap, isScalar, isSeq } from 'yaml';
import type { Pair } from 'yaml';
import { parseYaml } from '../knowledge-object/descriptors/yaml-document.ts';
import type { YamlNode } from '../knowledge-object/descriptors/yaml-document.ts';
import { ServiceError } from '../lib/errors.ts';

export interface PlacedData {
  readonly value: unknown;
  /** Gives the line, from 1, of the value at this path, or of the nearest value around it. */
  readonly lineOf: (path: readonly string[]) => number;
  /** A scalar as it is written: `1.0` gives "1.0". */
  readonly sourceOf: (path: readonly string[]) => string | undefined;
}

/** Undefined where it cannot be read, which is a problem already. */
export function readPlaced(text: string, file: string): PlacedData | undefined {
  try {
    const { document, resolve, line } = parseYaml(text, file);
    const walk = (path: readonly string[]): { node: YamlNode; at: number; whole: boolean } => {
      let node = resolve(document.contents);
      let at = line(node);
      for (const part of path) {
        if (isMap(node)) {
          const pair: Pair | undefined = node.items.findLast((each) => keyOf(resolve(each.key)).includes(part));
          if (pair === undefined) return { node, at, whole: false };
          at = line(pair.key as YamlNode);
          node = resolve(pair.value);
        } else if (isSeq(node)) {
          const item = node.items[Number(part)];
          if (item === undefined) return { node, at, whole: false };
          at = line(item as YamlNode);
          node = resolve(item);
        } else return { node, at, whole: false };
      }
      return { node, at, whole: true };
    };
    return {
      value: document.toJS(),
      lineOf: (path) => walk(path).at,
      sourceOf: (path) => {
        const { node, whole } = walk(path);
        return whole && isScalar(node) && node.value !== null ? node.source : undefined;
      },
    };
  } catch (thrown) {
    // What is endless by its aliases is a ReferenceError.
    if (thrown instanceof ServiceError || thrown instanceof ReferenceError) return undefined;
    throw thrown;
  }
}

/** Gives a key as it is written, and as JavaScript names it. */
const keyOf = (key: YamlNode): readonly (string | undefined)[] =>
  isScalar(key) ? [key.source, String(key.value)] : [];
