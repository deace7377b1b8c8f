// Runs inside the isolate; see `platform.js`.
(function (kit) {
  'use strict';
  const { define, host, part } = kit;
  const { apply, defineProperty, ownKeys } = Reflect;
  const { parse, stringify } = JSON;
  const TypeErrorType = TypeError;
  const text = String;
  const decodeAll = decodeURIComponent;
  const encodeAll = encodeURIComponent;
  const { indexOf, replaceAll, replace, split, substring, toWellFormed, charCodeAt } = String.prototype;
  const textOf = (crossed) => (typeof crossed === 'string' ? crossed : crossed[0]);
  const iteratorKey = Symbol.iterator;
  const number = parseInt;

  // Bytes that are no UTF-8 become what stands for a character that is none.
  const HEX = /^[0-9a-fA-F]{2}$/;
  const decodeBytes = (words) => {
    const { encode, TextDecoder } = part('encoding');
    const bytes = encode(words);
    let size = 0;
    for (let i = 0; i < bytes.length; i++) {
      const isEscape = bytes[i] === 0x25 && i + 2 < bytes.length;
      const hex = isEscape ? String.fromCharCode(bytes[i + 1], bytes[i + 2]) : '';
      const isHex = HEX.test(hex);
      bytes[size++] = isHex ? number(hex, 16) : bytes[i];
      if (isHex) i += 2;
    }
    return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes.subarray(0, size));
  };
  const decode = (words) => {
    const spaced = apply(replaceAll, words, ['+', ' ']);
    if (apply(indexOf, spaced, ['%']) < 0) return apply(toWellFormed, spaced, []);
    try {
      return apply(toWellFormed, decodeAll(spaced), []);
    } catch {
      return decodeBytes(spaced);
    }
  };
  const ESCAPED = /[!'()~]|%20/g;
  const encodeOne = (each) => (each === '%20' ? '+' : '%' + apply(charCodeAt, each, [0]).toString(16).toUpperCase());
  const encode = (words) => apply(replace, encodeAll(apply(toWellFormed, words, [])), [ESCAPED, encodeOne]);
  const pairsOf = (query) => {
    const pairs = [];
    for (const each of apply(split, query, ['&'])) {
      if (each === '') continue;
      const at = apply(indexOf, each, ['=']);
      const name = at < 0 ? each : apply(substring, each, [0, at]);
      pairs.push([decode(name), at < 0 ? '' : decode(apply(substring, each, [at + 1]))]);
    }
    return pairs;
  };
  const withoutMark = (query) => (query[0] === '?' ? apply(substring, query, [1]) : query);
  const wellFormed = (value) => apply(toWellFormed, text(value), []);

  // The parameters of a URL, which hears of each change.
  let linked;
  let refill;
  class URLSearchParams {
    #pairs = [];
    #changed = () => undefined;
    constructor(init = '') {
      if ((typeof init !== 'object' && typeof init !== 'function') || init === null)
        this.#pairs = pairsOf(withoutMark(wellFormed(init)));
      else if (init[iteratorKey] !== undefined && init[iteratorKey] !== null) {
        for (const pair of init) {
          if (pair === null || typeof pair !== 'object' || typeof pair[iteratorKey] !== 'function')
            throw new TypeErrorType('Each query pair must be an iterable [name, value] tuple');
          const both = [...pair];
          if (both.length !== 2) throw new TypeErrorType('Each query pair must be an iterable [name, value] tuple');
          this.#pairs.push([wellFormed(both[0]), wellFormed(both[1])]);
        }
      } else {
        const all = new Map();
        for (const key of ownKeys(init)) {
          if (!Object.getOwnPropertyDescriptor(init, key)?.enumerable) continue;
          if (typeof key === 'symbol') throw new TypeErrorType('Cannot convert a Symbol value to a string');
          all.set(wellFormed(key), wellFormed(init[key]));
        }
        this.#pairs = [...all];
      }
    }
    static {
      linked = (query, changed) => {
        const params = new URLSearchParams(query);
        params.#changed = changed;
        return params;
      };
      refill = (params, query) => {
        params.#pairs = pairsOf(withoutMark(query));
      };
    }
    get size() {
      return this.#pairs.length;
    }
    append(name, value) {
      this.#need(arguments.length, 2);
      this.#pairs.push([wellFormed(name), wellFormed(value)]);
      this.#changed();
    }
    delete(name, value = undefined) {
      this.#need(arguments.length, 1);
      const key = wellFormed(name);
      const only = value === undefined ? undefined : wellFormed(value);
      this.#pairs = this.#pairs.filter((pair) => pair[0] !== key || (only !== undefined && pair[1] !== only));
      this.#changed();
    }
    get(name) {
      this.#need(arguments.length, 1);
      const key = wellFormed(name);
      return this.#pairs.find((pair) => pair[0] === key)?.[1] ?? null;
    }
    getAll(name) {
      this.#need(arguments.length, 1);
      const key = wellFormed(name);
      return this.#pairs.filter((pair) => pair[0] === key).map((pair) => pair[1]);
    }
    has(name, value = undefined) {
      this.#need(arguments.length, 1);
      const key = wellFormed(name);
      const only = value === undefined ? undefined : wellFormed(value);
      return this.#pairs.some((pair) => pair[0] === key && (only === undefined || pair[1] === only));
    }
    set(name, value) {
      this.#need(arguments.length, 2);
      const key = wellFormed(name);
      const words = wellFormed(value);
      const first = this.#pairs.find((pair) => pair[0] === key);
      if (first === undefined) this.#pairs.push([key, words]);
      else {
        first[1] = words;
        this.#pairs = this.#pairs.filter((pair) => pair === first || pair[0] !== key);
      }
      this.#changed();
    }
    sort() {
      this.#pairs.sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0));
      this.#changed();
    }
    forEach(callback, self = undefined) {
      if (typeof callback !== 'function') throw new TypeErrorType('The callback must be a function');
      for (const [name, value] of this) apply(callback, self, [value, name, this]);
    }
    *entries() {
      for (let i = 0; i < this.#pairs.length; i++) yield [this.#pairs[i][0], this.#pairs[i][1]];
    }
    *keys() {
      for (let i = 0; i < this.#pairs.length; i++) yield this.#pairs[i][0];
    }
    *values() {
      for (let i = 0; i < this.#pairs.length; i++) yield this.#pairs[i][1];
    }
    toString() {
      let query = '';
      for (let i = 0; i < this.#pairs.length; i++)
        query += (i === 0 ? '' : '&') + encode(this.#pairs[i][0]) + '=' + encode(this.#pairs[i][1]);
      return query;
    }
    #need(given, wanted) {
      if (given < wanted) throw new TypeErrorType(wanted === 1 ? 'A name is needed' : 'A name and a value are needed');
    }
  }
  defineProperty(URLSearchParams.prototype, iteratorKey, {
    __proto__: null,
    value: URLSearchParams.prototype.entries,
    writable: true,
    configurable: true,
  });
  define(URLSearchParams.prototype, 'URLSearchParams');

  // The service parses URLs by the standard, as Node does; undefined where it is none.
  const MOST = 2 ** 22;
  const ask = (...asked) => {
    const question = stringify(asked);
    if (question.length > MOST)
      throw new TypeErrorType(`Invalid URL: the javascript engine takes URLs of at most ${MOST} characters`);
    const answer = textOf(host('url', '', [question], ''));
    return answer === '' ? undefined : parse(answer);
  };
  class URL {
    #parts;
    #params;
    constructor(url, base = undefined) {
      if (arguments.length === 0) throw new TypeErrorType('A URL needs a text');
      const words = wellFormed(url);
      const parts = base === undefined ? ask('new', words) : ask('new', words, wellFormed(base));
      if (parts === undefined)
        throw Object.assign(new TypeErrorType('Invalid URL'), { code: 'ERR_INVALID_URL', input: words });
      this.#parts = parts;
    }
    static canParse(url, base = undefined) {
      return URL.parse(url, base) !== null;
    }
    static parse(url, base = undefined) {
      try {
        return new URL(url, base);
      } catch (thrown) {
        if (thrown?.code === 'ERR_INVALID_URL') return null;
        throw thrown;
      }
    }
    get searchParams() {
      return (this.#params ??= linked(this.#parts.search, () =>
        this.#set('search', apply(URLSearchParams.prototype.toString, this.#params, []), false),
      ));
    }
    toString() {
      return this.#parts.href;
    }
    toJSON() {
      return this.#parts.href;
    }
    #set(name, value, isSeen = true) {
      const parts = ask('set', this.#parts.href, name, wellFormed(value));
      if (parts === undefined)
        throw Object.assign(new TypeErrorType('Invalid URL'), { code: 'ERR_INVALID_URL', input: text(value) });
      this.#parts = parts;
      if (isSeen && this.#params !== undefined && (name === 'href' || name === 'search'))
        refill(this.#params, parts.search);
    }
    static {
      for (const name of 'href protocol username password host hostname port pathname search hash'.split(' '))
        defineProperty(URL.prototype, name, {
          __proto__: null,
          get() {
            return this.#parts[name];
          },
          set(value) {
            this.#set(name, value);
          },
          enumerable: true,
          configurable: true,
        });
    }
    get origin() {
      return this.#parts.origin;
    }
  }
  define(URL.prototype, 'URL');
  return { URL, URLSearchParams };
});
