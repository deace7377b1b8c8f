// Runs inside the isolate; see `platform.js`.
(function (kit) {
  'use strict';
  const { exception, part } = kit;
  const { apply, defineProperty } = Reflect;
  const { hasOwnProperty, toString: tagOf } = Object.prototype;
  const { getOwnPropertyDescriptor, getPrototypeOf, keys } = Object;
  const { isArray } = Array;
  const { isView } = ArrayBuffer;
  const TypeErrorType = TypeError;
  const getterOf = (type, name) => getOwnPropertyDescriptor(type.prototype, name).get;
  const text = String;
  const Buffers = ArrayBuffer;
  const Bytes = Uint8Array;
  const Views = DataView;
  const Times = Date;
  const Patterns = RegExp;
  const Maps = Map;
  const Sets = Set;
  const boxed = Object;
  const { slice: copyOf, transfer } = Buffers.prototype;
  const lengthOf = getterOf(Buffers, 'byteLength');
  const detachedOf = getterOf(Buffers, 'detached');
  const timeOf = Times.prototype.getTime;
  const sourceOf = getterOf(Patterns, 'source');
  const flagsOf = getterOf(Patterns, 'flags');
  const entriesOf = Maps.prototype.forEach;
  const valuesOf = Sets.prototype.forEach;
  const put = Maps.prototype.set;
  const add = Sets.prototype.add;
  const values = ['Boolean', 'Number', 'String', 'BigInt'];
  const valueOf = { __proto__: null };
  for (const name of values) valueOf[name] = globalThis[name].prototype.valueOf;
  const typed = Object.getPrototypeOf(Bytes);
  const partsOf = (type) => ['buffer', 'byteOffset', 'byteLength'].map((name) => getterOf(type, name));
  const typedParts = partsOf(typed);
  const viewParts = partsOf(Views);
  const tagOfTyped = getterOf(typed, Symbol.toStringTag);
  const lengthOfTyped = getterOf(typed, 'length');
  const arrays = { __proto__: null };
  for (const name of 'Int8 Uint8 Uint8Clamped Int16 Uint16 Int32 Uint32 Float16 Float32 Float64 BigInt64 BigUint64'.split(
    ' ',
  ))
    if (globalThis[name + 'Array'] !== undefined) arrays[name + 'Array'] = globalThis[name + 'Array'];
  const errors = { __proto__: null, Error };
  for (const each of [EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError])
    errors[each.name] = each;
  const { get: recall, set: remember, has: knows } = Maps.prototype;

  const refuse = (what) => exception(`${what} could not be cloned.`, 'DataCloneError');
  const UNCLONEABLE = { __proto__: null };
  for (const name of 'Promise WeakMap WeakSet WeakRef Generator AsyncGenerator Symbol FinalizationRegistry URL URLSearchParams AbortSignal AbortController Event EventTarget TextEncoder TextDecoder Crypto SubtleCrypto Performance'.split(
    ' ',
  ))
    UNCLONEABLE[`[object ${name}]`] = `#<${name}>`;
  const own = (target, key, value) =>
    defineProperty(target, key, { __proto__: null, value, writable: true, enumerable: true, configurable: true });
  const hide = (target, key, value) =>
    defineProperty(target, key, { __proto__: null, value, writable: true, enumerable: false, configurable: true });

  function clone(value, memory) {
    if (typeof value === 'symbol') throw refuse(text(value));
    if (typeof value === 'function') throw refuse(text(value));
    if (typeof value !== 'object' || value === null) return value;
    if (apply(knows, memory, [value])) return apply(recall, memory, [value]);
    const keep = (made) => {
      apply(remember, memory, [value, made]);
      return made;
    };
    if (isArray(value)) return cloneProperties(value, keep(new Array(value.length)), memory);
    const prototype = getPrototypeOf(value);
    if (prototype === null || prototype === boxed.prototype) {
      const tag = apply(tagOf, value, []);
      if (tag === '[object Object]') return cloneProperties(value, keep({}), memory);
    }
    return cloneBuiltIn(value, keep, memory) ?? cloneProperties(value, keep({}), memory);
  }

  function cloneProperties(from, to, memory) {
    for (const key of keys(from)) if (apply(hasOwnProperty, from, [key])) own(to, key, clone(from[key], memory));
    return to;
  }

  // What the tag says may be made up, so that it is only tried.
  function cloneBuiltIn(value, keep, memory) {
    if (isView(value)) return cloneView(value, keep, memory);
    const tag = apply(tagOf, value, []);
    const refused = UNCLONEABLE[tag];
    if (refused !== undefined) throw refuse(refused);
    try {
      switch (tag) {
        case '[object Date]':
          return keep(new Times(apply(timeOf, value, [])));
        case '[object RegExp]':
          return keep(new Patterns(apply(sourceOf, value, []), apply(flagsOf, value, [])));
        case '[object ArrayBuffer]':
          apply(lengthOf, value, []);
          break;
        case '[object Map]':
        case '[object Set]':
          apply(getterOf(tag === '[object Map]' ? Maps : Sets, 'size'), value, []);
          break;
        case '[object Boolean]':
        case '[object Number]':
        case '[object String]':
        case '[object BigInt]':
          return keep(boxed(apply(valueOf[tag.slice(8, -1)], value, [])));
        case '[object Error]':
          break;
        default:
          return value instanceof Error ? cloneError(value, keep, memory) : undefined;
      }
    } catch (thrown) {
      if (thrown instanceof TypeErrorType) return undefined;
      throw thrown;
    }
    if (tag === '[object ArrayBuffer]') return cloneBuffer(value, keep);
    if (tag === '[object Error]') return cloneError(value, keep, memory);
    const pairs = [];
    if (tag === '[object Map]') {
      apply(entriesOf, value, [(each, key) => pairs.push([key, each])]);
      const made = keep(new Maps());
      for (const [key, each] of pairs) apply(put, made, [clone(key, memory), clone(each, memory)]);
      return made;
    }
    apply(valuesOf, value, [(each) => pairs.push(each)]);
    const made = keep(new Sets());
    for (const each of pairs) apply(add, made, [clone(each, memory)]);
    return made;
  }

  function cloneBuffer(value, keep) {
    if (apply(detachedOf, value, [])) throw refuse('An ArrayBuffer is detached and');
    return keep(apply(copyOf, value, [0]));
  }

  function cloneView(value, keep, memory) {
    const tag = apply(tagOfTyped, value, []);
    const [buffer, offset, length] = tag === undefined ? viewParts : typedParts;
    const at = apply(offset, value, []);
    const size = tag === undefined ? apply(length, value, []) : apply(lengthOfTyped, value, []);
    const copied = clone(apply(buffer, value, []), memory);
    return keep(new (tag === undefined ? Views : arrays[tag])(copied, at, size));
  }

  function cloneError(value, keep, memory) {
    if (value instanceof part('exceptions').DOMException) {
      const made = keep(exception(value.message, value.name));
      hide(made, 'stack', value.stack);
      return made;
    }
    const type = errors[text(value.name)] ?? errors.Error;
    const made = keep(new type());
    const message = getOwnPropertyDescriptor(value, 'message');
    if (message !== undefined && 'value' in message) hide(made, 'message', text(message.value));
    hide(made, 'stack', typeof value.stack === 'string' ? value.stack : undefined);
    const cause = getOwnPropertyDescriptor(value, 'cause');
    if (cause !== undefined && 'value' in cause) hide(made, 'cause', clone(cause.value, memory));
    return made;
  }

  function structuredClone(value, options = undefined) {
    if (arguments.length === 0) throw new TypeErrorType('structuredClone needs a value');
    const given = options?.transfer;
    const memory = new Maps();
    if (given === undefined || given === null) return clone(value, memory);
    const moved = [...given];
    for (let i = 0; i < moved.length; i++) {
      if (apply(tagOf, moved[i], []) !== '[object ArrayBuffer]' || moved.indexOf(moved[i]) !== i)
        throw refuse('Only an ArrayBuffer can be transferred, and once: a value of the list');
      if (apply(detachedOf, moved[i], [])) throw refuse('An ArrayBuffer is detached and');
    }
    // What cannot be cloned is found before anything is taken away.
    clone(value, memory);
    const after = new Maps();
    for (const each of moved) apply(remember, after, [each, apply(transfer, each, [])]);
    return clone(value, after);
  }
  return { structuredClone };
});
