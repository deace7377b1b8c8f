/** "Text from a CSV becomes the number, boolean or array that the schema says"; what does not fit stays text. */
import { isObject } from '../lib/fields.ts';
import type { JsonTypes } from './schema-fields.ts';

const NUMBER = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i;

/** Gives the value that a cell stands for. */
export type CellReader = (cell: unknown) => unknown;

export function cellReader(types: JsonTypes): CellReader {
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

function jsonOr(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
