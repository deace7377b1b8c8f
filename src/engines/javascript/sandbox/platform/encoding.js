// Runs inside the isolate; see `platform.js`.
(function (kit) {
  'use strict';
  const { define, exception } = kit;
  const { apply } = Reflect;
  const { charCodeAt, toLowerCase, trim, replace } = String.prototype;
  const { fromCharCode } = String;
  const { test } = RegExp.prototype;
  const { isView } = ArrayBuffer;
  const Bytes = Uint8Array;
  const Units = Uint16Array;
  const RangeErrorType = RangeError;
  const TypeErrorType = TypeError;
  const text = String;
  const getterOf = (type, name) => Object.getOwnPropertyDescriptor(type, name).get;
  const TypedArray = Object.getPrototypeOf(Bytes.prototype);
  const lengthOfBuffer = getterOf(ArrayBuffer.prototype, 'byteLength');
  const views = [TypedArray, DataView.prototype].map((type) =>
    ['buffer', 'byteOffset', 'byteLength'].map((name) => getterOf(type, name)),
  );
  const tagOf = getterOf(TypedArray, Symbol.toStringTag);

  // The bytes of an ArrayBuffer or a view of one, which are not copied.
  const bytesOf = (source) => {
    if (isView(source)) {
      const [buffer, offset, length] = views[apply(tagOf, source, []) === undefined ? 1 : 0];
      return new Bytes(apply(buffer, source, []), apply(offset, source, []), apply(length, source, []));
    }
    try {
      apply(lengthOfBuffer, source, []);
    } catch {
      throw new TypeErrorType('The bytes must be an ArrayBuffer or a view of one');
    }
    return new Bytes(source);
  };

  // Code points; half of a pair is what stands for a character that is none.
  const pointAt = (words, at) => {
    const unit = apply(charCodeAt, words, [at]);
    if (unit < 0xd800 || unit > 0xdfff) return unit;
    const next = unit < 0xdc00 ? apply(charCodeAt, words, [at + 1]) : 0;
    return next >= 0xdc00 && next <= 0xdfff ? 0x10000 + ((unit - 0xd800) << 10) + (next - 0xdc00) : 0xfffd;
  };
  const sizeOf = (point) => (point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4);
  // Writes as many whole characters as there is room for.
  const write = (words, bytes) => {
    const { length } = words;
    const room = bytes.length;
    let read = 0;
    let written = 0;
    while (read < length) {
      const point = pointAt(words, read);
      const size = sizeOf(point);
      if (written + size > room) break;
      if (size === 1) bytes[written] = point;
      else {
        for (let i = size - 1, rest = point; i > 0; i--, rest >>= 6) bytes[written + i] = 0x80 | (rest & 0x3f);
        bytes[written] = ((0xf00 >> size) & 0xff) | (point >> (6 * (size - 1)));
      }
      written += size;
      read += size === 4 ? 2 : 1;
    }
    return { read, written };
  };
  const encode = (words) => {
    const { length } = words;
    let size = 0;
    for (let i = 0; i < length; i++) {
      const each = sizeOf(pointAt(words, i));
      size += each;
      if (each === 4) i++;
    }
    const bytes = new Bytes(size);
    write(words, bytes);
    return bytes;
  };
  class TextEncoder {
    get encoding() {
      return 'utf-8';
    }
    encode(words = '') {
      return encode(text(words));
    }
    encodeInto(words, bytes) {
      if (apply(tagOf, bytes, []) !== 'Uint8Array') throw new TypeErrorType('The destination must be a Uint8Array');
      return write(text(words), bytes);
    }
  }

  const UTF8 = 'unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf-8 utf8 x-unicode20utf8';
  const UTF16LE = 'csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16 utf-16le';
  const LATIN1 =
    'ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 iso8859-1 iso88591 iso_8859-1 iso_8859-1:1987 l1 latin1 us-ascii windows-1252 x-cp1252';
  const encodings = { __proto__: null };
  for (const [encoding, labels] of [
    ['utf-8', UTF8],
    ['utf-16le', UTF16LE],
    ['utf-16be', 'unicodefffe utf-16be'],
    ['windows-1252', LATIN1],
  ])
    for (const label of labels.split(' ')) encodings[label] = encoding;
  // What windows-1252 has from 0x80 to 0x9f.
  const WINDOWS = new Units([
    0x20ac, 0x81, 0x201a, 0x192, 0x201e, 0x2026, 0x2020, 0x2021, 0x2c6, 0x2030, 0x160, 0x2039, 0x152, 0x8d, 0x17d, 0x8f,
    0x90, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014, 0x2dc, 0x2122, 0x161, 0x203a, 0x153, 0x9d, 0x17e,
    0x178,
  ]);

  // Collects characters and joins them by the thousand.
  const MOST_UNITS = 4096;
  class Output {
    units = new Units(MOST_UNITS);
    count = 0;
    done = '';
    put(point) {
      if (this.count + 2 > MOST_UNITS) this.flush();
      if (point < 0x10000) this.units[this.count++] = point;
      else {
        this.units[this.count++] = 0xd7c0 + (point >> 10);
        this.units[this.count++] = 0xdc00 + (point & 0x3ff);
      }
    }
    flush() {
      this.done += apply(fromCharCode, undefined, new Units(this.units.buffer, 0, this.count));
      this.count = 0;
      return this.done;
    }
  }
  const MALFORMED = -1;
  const utf8 = (put) => {
    let point = 0;
    let needed = 0;
    let seen = 0;
    let lower = 0x80;
    let upper = 0xbf;
    const restart = () => {
      point = needed = seen = 0;
      lower = 0x80;
      upper = 0xbf;
    };
    const begin = (byte) => {
      if (byte < 0x80) put(byte);
      else if (byte >= 0xc2 && byte <= 0xdf) {
        needed = 1;
        point = byte & 0x1f;
      } else if (byte >= 0xe0 && byte <= 0xef) {
        if (byte === 0xe0) lower = 0xa0;
        if (byte === 0xed) upper = 0x9f;
        needed = 2;
        point = byte & 0xf;
      } else if (byte >= 0xf0 && byte <= 0xf4) {
        if (byte === 0xf0) lower = 0x90;
        if (byte === 0xf4) upper = 0x8f;
        needed = 3;
        point = byte & 0x7;
      } else put(MALFORMED);
    };
    return {
      next(byte) {
        if (needed === 0) return begin(byte);
        if (byte < lower || byte > upper) {
          restart();
          put(MALFORMED);
          return begin(byte);
        }
        lower = 0x80;
        upper = 0xbf;
        point = (point << 6) | (byte & 0x3f);
        if (++seen < needed) return undefined;
        const whole = point;
        restart();
        return put(whole);
      },
      end() {
        if (needed === 0) return;
        restart();
        put(MALFORMED);
      },
    };
  };
  const utf16 = (put, isBig) => {
    let first = -1;
    let lead = 0;
    const unit = (value) => {
      if (lead !== 0) {
        const high = lead;
        lead = 0;
        if (value >= 0xdc00 && value <= 0xdfff) return put(0x10000 + ((high - 0xd800) << 10) + (value - 0xdc00));
        put(MALFORMED);
      }
      if (value >= 0xd800 && value <= 0xdbff) lead = value;
      else put(value >= 0xdc00 && value <= 0xdfff ? MALFORMED : value);
      return undefined;
    };
    return {
      next(byte) {
        if (first < 0) first = byte;
        else {
          const value = isBig ? (first << 8) | byte : (byte << 8) | first;
          first = -1;
          unit(value);
        }
      },
      end() {
        if (first >= 0 || lead !== 0) put(MALFORMED);
        first = -1;
        lead = 0;
      },
    };
  };
  const windows = (put) => ({
    next: (byte) => put(byte >= 0x80 && byte <= 0x9f ? WINDOWS[byte - 0x80] : byte),
    end: () => undefined,
  });

  class TextDecoder {
    #encoding;
    #fatal;
    #ignoreBOM;
    #decoder;
    #output;
    #isMarkPossible = true;
    constructor(label = 'utf-8', options = undefined) {
      const encoding = encodings[apply(toLowerCase, apply(trim, text(label), []), [])];
      if (encoding === undefined)
        throw new RangeErrorType(
          `The "${text(label)}" encoding is not supported: there are utf-8, utf-16le, utf-16be and windows-1252 (latin1)`,
        );
      this.#encoding = encoding;
      this.#fatal = Boolean(options?.fatal);
      this.#ignoreBOM = Boolean(options?.ignoreBOM);
    }
    get encoding() {
      return this.#encoding;
    }
    get fatal() {
      return this.#fatal;
    }
    get ignoreBOM() {
      return this.#ignoreBOM;
    }
    decode(source = undefined, options = undefined) {
      const goesOn = Boolean(options?.stream);
      const bytes = source === undefined ? new Bytes(0) : bytesOf(source);
      this.#output = new Output();
      this.#decoder ??= this.#begin();
      try {
        const { length } = bytes;
        for (let i = 0; i < length; i++) this.#decoder.next(bytes[i]);
        if (!goesOn) this.#decoder.end();
        return this.#output.flush();
      } catch (thrown) {
        this.#decoder = undefined;
        throw thrown;
      } finally {
        this.#output = undefined;
        if (!goesOn) this.#decoder = undefined;
      }
    }
    #begin() {
      const encoding = this.#encoding;
      this.#isMarkPossible = encoding !== 'windows-1252' && !this.#ignoreBOM;
      const put = (point) => {
        if (this.#isMarkPossible) {
          this.#isMarkPossible = false;
          if (point === 0xfeff) return;
        }
        if (point !== MALFORMED) this.#output.put(point);
        else if (this.#fatal)
          throw Object.assign(new TypeErrorType(`The encoded data was not valid for encoding ${encoding}`), {
            code: 'ERR_ENCODING_INVALID_ENCODED_DATA',
          });
        else this.#output.put(0xfffd);
      };
      if (encoding === 'utf-8') return utf8(put);
      return encoding === 'windows-1252' ? windows(put) : utf16(put, encoding === 'utf-16be');
    }
  }
  define(TextEncoder.prototype, 'TextEncoder');
  define(TextDecoder.prototype, 'TextDecoder');

  const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  const SEXTETS = new Bytes(128);
  for (let i = 0; i < 64; i++) SEXTETS[ALPHABET.charCodeAt(i)] = i;
  const WHITE = /[\t\n\f\r ]/g;
  const BASE64 = /^[A-Za-z0-9+/]*$/;
  const PADDING = /={1,2}$/;
  function btoa(data) {
    if (arguments.length === 0) throw new TypeErrorType('btoa needs an argument');
    const binary = text(data);
    const { length } = binary;
    const out = new Output();
    for (let i = 0; i < length; i += 3) {
      let bits = 0;
      for (let j = i; j < i + 3; j++) {
        const unit = j < length ? apply(charCodeAt, binary, [j]) : 0;
        if (unit > 255) throw exception('Invalid character', 'InvalidCharacterError');
        bits = (bits << 8) | unit;
      }
      for (let j = 0; j < 4; j++)
        out.put(i + j > length ? 0x3d : apply(charCodeAt, ALPHABET, [(bits >> (18 - 6 * j)) & 63]));
    }
    return out.flush();
  }
  function atob(data) {
    if (arguments.length === 0) throw new TypeErrorType('atob needs an argument');
    let base64 = apply(replace, text(data), [WHITE, '']);
    if (base64.length % 4 === 0) base64 = apply(replace, base64, [PADDING, '']);
    const { length } = base64;
    if (length % 4 === 1 || !apply(test, BASE64, [base64]))
      throw exception('The string to be decoded is not correctly encoded.', 'InvalidCharacterError');
    const out = new Output();
    for (let i = 0; i < length; i += 4) {
      let bits = 0;
      for (let j = i; j < i + 4; j++) bits = (bits << 6) | (j < length ? SEXTETS[apply(charCodeAt, base64, [j])] : 0);
      const bytes = length - i >= 4 ? 3 : length - i - 1;
      for (let j = 0; j < bytes; j++) out.put((bits >> (16 - 8 * j)) & 255);
    }
    return out.flush();
  }
  return { TextEncoder, TextDecoder, atob, btoa, bytesOf, encode };
});
