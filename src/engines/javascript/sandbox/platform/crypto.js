// Runs inside the isolate; see `platform.js`.
(function (kit) {
  'use strict';
  const { define, exception, host, part } = kit;
  const { apply } = Reflect;
  const { charCodeAt, substring, toUpperCase } = String.prototype;
  const { fromCharCode } = String;
  const Bytes = Uint8Array;
  const TypeErrorType = TypeError;
  const text = String;
  const { bytesOf } = part('encoding');
  const textOf = (crossed) => (typeof crossed === 'string' ? crossed : crossed[0]);
  const tagOf = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Bytes.prototype), Symbol.toStringTag).get;

  const digit = (unit) => (unit < 0x3a ? unit - 0x30 : unit - 0x57);
  const fromHex = (hex, bytes) => {
    for (let i = 0; i < bytes.length; i++)
      bytes[i] = (digit(apply(charCodeAt, hex, [2 * i])) << 4) | digit(apply(charCodeAt, hex, [2 * i + 1]));
    return bytes;
  };
  // Random bytes are asked for in advance, so that not every identifier asks for its own.
  const POOL = 1024;
  let pool = '';
  const randomHex = (count) => {
    if (count > POOL) return textOf(host('random', text(count), '', ''));
    if (pool.length < 2 * count) pool = textOf(host('random', text(POOL), '', ''));
    const hex = apply(substring, pool, [0, 2 * count]);
    pool = apply(substring, pool, [2 * count]);
    return hex;
  };
  const INTEGERS = { __proto__: null };
  for (const name of 'Int8 Uint8 Uint8Clamped Int16 Uint16 Int32 Uint32 BigInt64 BigUint64'.split(' '))
    INTEGERS[name + 'Array'] = true;
  const MOST_RANDOM = 65_536;

  const HASHES = { __proto__: null, 'SHA-1': 'sha1', 'SHA-256': 'sha256', 'SHA-384': 'sha384', 'SHA-512': 'sha512' };
  const CHUNK = 65_536;
  const PIECE = 8192;
  // Only strings cross: a character a byte.
  const digest = (algorithm, bytes) => {
    host('hash', 'begin', algorithm, '');
    const { length } = bytes;
    for (let at = 0; at < length; at += CHUNK) {
      let chunk = '';
      for (let from = at; from < at + CHUNK && from < length; from += PIECE) {
        const size = length - from < PIECE ? length - from : PIECE;
        chunk += apply(fromCharCode, undefined, new Bytes(bytes.buffer, bytes.byteOffset + from, size));
      }
      host('hash', 'update', [chunk], '');
    }
    const hex = host('hash', 'end', '', '');
    return fromHex(hex, new Bytes(hex.length / 2)).buffer;
  };

  class SubtleCrypto {
    async digest(algorithm, data) {
      const name = apply(toUpperCase, text(typeof algorithm === 'object' ? algorithm?.name : algorithm), []);
      const known = HASHES[name];
      if (known === undefined)
        throw exception(
          `Unrecognized algorithm name: there are ${Object.keys(HASHES).join(', ')}`,
          'NotSupportedError',
        );
      return digest(known, bytesOf(data));
    }
  }
  define(SubtleCrypto.prototype, 'SubtleCrypto');
  class Crypto {
    #subtle = new SubtleCrypto();
    get subtle() {
      return this.#subtle;
    }
    getRandomValues(array) {
      let tag;
      try {
        tag = apply(tagOf, array, []);
      } catch {
        throw new TypeErrorType('getRandomValues takes a typed array');
      }
      if (INTEGERS[tag] !== true) throw exception('The array must be one of integers', 'TypeMismatchError');
      const bytes = bytesOf(array);
      if (bytes.length > MOST_RANDOM)
        throw exception(
          `The requested length exceeds ${MOST_RANDOM} bytes, the most that one call gives`,
          'QuotaExceededError',
        );
      fromHex(randomHex(bytes.length), bytes);
      return array;
    }
    randomUUID() {
      const hex = randomHex(16);
      const at = (from, to) => apply(substring, hex, [from, to]);
      const variant = '89ab'[digit(apply(charCodeAt, hex, [16])) & 3];
      return `${at(0, 8)}-${at(8, 12)}-4${at(13, 16)}-${variant}${at(17, 20)}-${at(20, 32)}`;
    }
  }
  define(Crypto.prototype, 'Crypto');

  const begun = Date.now() - host('now', '', '', '');
  class Performance {
    get timeOrigin() {
      return begun;
    }
    now() {
      return host('now', '', '', '');
    }
    toJSON() {
      return { timeOrigin: begun };
    }
  }
  define(Performance.prototype, 'Performance');
  return { crypto: new Crypto(), performance: new Performance() };
});
