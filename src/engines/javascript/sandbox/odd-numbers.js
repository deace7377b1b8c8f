// Runs inside the isolate before `guest.js`: finds the numbers in a result for which JSON has no words.
const makeOddNumberIn = function () {
  'use strict';
  const { stringify } = JSON;
  const { apply } = Reflect;
  const { slice } = String.prototype;
  const { exec } = RegExp.prototype;
  const { isArray } = Array;
  const { isFinite } = Number;
  const NumberType = Number;
  const BigIntType = BigInt;
  // `NaN at result.list[3].x`, or undefined. The code may give other values now than it gave before: what is found is
  // for its author, nothing relies on it.
  const oddNumberIn = (value) => {
    // The objects in which the search is, from the outermost, and the keys that led to them.
    const holders = { __proto__: null };
    const keys = { __proto__: null };
    let depth = 0;
    let found;
    try {
      stringify(value, function (key, each) {
        while (depth > 0 && holders[depth] !== this) depth--;
        const number = each instanceof NumberType ? +each : each;
        const isBig = typeof number === 'bigint' || each instanceof BigIntType;
        if (isBig || (typeof number === 'number' && !isFinite(number))) {
          let place = 'result';
          for (let i = 2; i <= depth; i++) place += member(holders[i - 1], keys[i]);
          if (depth > 0) place += member(holders[depth], key);
          if (place.length > MAX_PLACE) place = apply(slice, place, [0, MAX_PLACE - 1]) + '…';
          found =
            (isBig ? 'a BigInt' : number !== number ? 'NaN' : number > 0 ? 'Infinity' : '-Infinity') + ' at ' + place;
          throw found;
        }
        if (typeof each === 'object' && each !== null) {
          depth++;
          holders[depth] = each;
          keys[depth] = key;
        }
        return each;
      });
    } catch {
      // Found, or code that throws when it is read again.
    }
    return found;
  };
  const MAX_PLACE = 200;
  const isPlainName = /^[A-Za-z_$][A-Za-z0-9_$]*$/;
  const member = (holder, key) => {
    if (isArray(holder)) return '[' + key + ']';
    const start = apply(slice, key, [0, MAX_PLACE]);
    return apply(exec, isPlainName, [start]) === null ? '[' + stringify(start) + ']' : '.' + start;
  };
  return oddNumberIn;
};
