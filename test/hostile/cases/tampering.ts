/** Code that changes built-ins which the sandbox itself might use. What it does to its own results is its own affair. */
import type { HostileCase } from '../support/hostile-case.ts';

const tampered = (name: string, change: string, is: unknown = { a: [1] }): HostileCase => ({
  name,
  body: `${change}; leaked = 1; return { a: [1] };`,
  outcome: { is },
});

export const tampering: readonly HostileCase[] = [
  tampered('JSON.stringify', `JSON.stringify = () => '"forged"'`),
  tampered('JSON.parse', 'JSON.parse = () => { throw 1; }'),
  tampered('JSON itself', 'globalThis.JSON = undefined'),
  tampered('Promise', 'globalThis.Promise = function () {}'),
  tampered('Promise.prototype.then', 'Promise.prototype.then = (f) => f("forged")'),
  tampered(
    'Promise.resolve',
    'Promise.resolve = () => "forged"; Object.defineProperty(Promise.prototype, "constructor", { get() { throw 1; } })',
  ),
  tampered(
    'Array.prototype',
    'for (const k of Object.getOwnPropertyNames(Array.prototype)) try { Array.prototype[k] = () => "forged"; } catch {}',
  ),
  tampered('the iterator of arrays', 'Array.prototype[Symbol.iterator] = function* () { yield "forged"; }'),
  tampered(
    'String.prototype',
    'for (const k of Object.getOwnPropertyNames(String.prototype)) try { String.prototype[k] = () => "forged"; } catch {}',
  ),
  tampered(
    'RegExp.prototype',
    'RegExp.prototype.exec = () => { throw 1; }; RegExp.prototype.test = () => true; RegExp.prototype[Symbol.split] = () => ["forged"]',
  ),
  tampered(
    'Function.prototype',
    'Function.prototype.call = Function.prototype.apply = Function.prototype.bind = () => "forged"',
  ),
  tampered(
    'Function.prototype[Symbol.hasInstance]',
    'Object.defineProperty(Object.prototype, Symbol.hasInstance, { value: () => true })',
  ),
  tampered('Reflect', 'Reflect.apply = Reflect.get = () => "forged"'),
  tampered(
    'Object',
    'Object.prototype.hasOwnProperty = () => false; Object.keys = () => ["forged"]; Object.defineProperty = () => 1',
  ),
  tampered(
    'setters for indexes',
    'for (const k of [0, 1, "n"]) Object.defineProperty(Object.prototype, k, { set() { throw 1; }, get() { return "forged"; }, configurable: true })',
  ),
  tampered(
    'setters for indexes of arrays',
    'for (const k of [1, 2, 3]) Object.defineProperty(Array.prototype, k, { set() { throw 1; }, get() { return "forged"; }, configurable: true })',
  ),
  tampered(
    'Symbol.toPrimitive',
    'Object.prototype[Symbol.toPrimitive] = () => "forged"; Object.prototype.toString = Object.prototype.valueOf = () => { throw 1; }',
  ),
  tampered('Error', 'globalThis.Error = globalThis.TypeError = class {}; '),
  tampered(
    'Error.prototype',
    'try { Error.prototype.toString = () => "forged"; Error.prototype.message = "forged"; } catch {}',
  ),
  tampered('eval and Function', 'globalThis.eval = globalThis.Function = () => "forged"'),
  tampered('context and console', 'globalThis.context = globalThis.console = null'),
  tampered(
    'every global',
    'for (const k of Reflect.ownKeys(globalThis)) if (k !== "run") try { delete globalThis[k]; } catch {}',
  ),
  tampered(
    'a frozen globalThis',
    'Object.freeze(globalThis); Object.freeze(Object.prototype); Object.freeze(Array.prototype)',
  ),
  tampered('the prototype of globalThis', 'Object.setPrototypeOf(globalThis, null)'),
  tampered(
    'the prototype of all arrays',
    'Object.setPrototypeOf(Array.prototype, new Proxy({}, { get() { return "forged"; } }))',
  ),
  tampered('ArrayBuffer', 'globalThis.ArrayBuffer = globalThis.Uint8Array = undefined'),
  // The code's own results change by the rules of the language, and nobody else's do.
  tampered('Object.prototype.toJSON', 'Object.prototype.toJSON = () => "own"', 'own'),
  tampered(
    'Object.prototype.then',
    'Object.prototype.then = function (done) { delete Object.prototype.then; done("own"); }',
    'own',
  ),
  {
    name: 'an error after the prototype of errors was changed',
    body: 'for (const E of [Error, TypeError]) for (const k of ["toString", "message", "name"]) try { Object.defineProperty(E.prototype, k, { get() { while (true); } }); } catch {} throw new TypeError("still readable");',
    outcome: 'error',
  },
];
