/** Thrown values that do something when they are read: isolated-vm reads them outside of its own limits. */
import type { HostileCase } from '../support/hostile-case.ts';

const trap = (property: string): string =>
  `const e = new Error("x"); Object.defineProperty(e, "${property}", { get() { while (true); } });`;

const looping = ['message', 'stack', 'name', 'cause', 'constructor'].flatMap((property): HostileCase[] => [
  { name: `an error with a looping ${property}`, body: `${trap(property)} throw e;`, outcome: 'error' },
  {
    name: `an object with a looping ${property}`,
    body: `throw { get ${property}() { while (true); } };`,
    outcome: 'error',
  },
]);

export const thrownValues: readonly HostileCase[] = [
  ...looping,
  {
    name: 'a rejection with a looping message',
    body: `return (async () => { ${trap('message')} throw e; })();`,
    outcome: 'error',
  },
  {
    name: 'an unhandled rejection',
    body: 'Promise.reject(new Error("nobody hears this")); return 1;',
    outcome: 'either',
  },
  {
    name: 'an unhandled rejection with a message of 100 MB',
    body: 'Promise.reject(new Error("x".repeat(1e8))); return 1;',
    outcome: { says: /Error: x{4000}$/ },
  },
  {
    name: 'an unhandled rejection of an object',
    body: 'Promise.reject({ x: 1 }); return 1;',
    outcome: { says: /an object that is no Error$/ },
  },
  {
    name: 'an unhandled rejection with a looping message',
    body: `${trap('message')} Promise.reject(e); return 1;`,
    outcome: 'either',
  },
  {
    name: 'an unhandled rejection with a looping stack',
    body: `${trap('stack')} Promise.reject(e); return 1;`,
    outcome: 'either',
  },
  {
    name: 'a prepareStackTrace that loops',
    body: '"use strict"; Error.prepareStackTrace = () => { while (true); }; throw new Error("x");',
    outcome: 'error',
  },
  {
    name: 'a prepareStackTrace that is defined anew',
    body: 'Object.defineProperty(Error, "prepareStackTrace", { value() { while (true); } }); throw new Error("x");',
    outcome: 'error',
  },
  {
    name: 'an error whose toString loops',
    body: 'Error.prototype.toString = () => { while (true); }; throw new Error("plain words");',
    outcome: { says: /plain words/ },
  },
  {
    name: 'a message that is an object which loops',
    body: 'const e = new Error(); e.message = { toString() { while (true); } }; throw e;',
    outcome: 'error',
  },
  {
    name: 'a Proxy that loops',
    body: 'throw new Proxy(new Error("x"), { get() { while (true); }, getPrototypeOf() { while (true); } });',
    outcome: 'error',
  },
  { name: 'a revoked Proxy', body: 'const p = Proxy.revocable({}, {}); p.revoke(); throw p.proxy;', outcome: 'error' },
  { name: 'a getter that throws in turn', body: 'throw { get message() { throw this; } };', outcome: 'error' },
  { name: 'null', body: 'throw null;', outcome: { says: /null/ } },
  { name: 'undefined', body: 'throw undefined;', outcome: { says: /undefined/ } },
  { name: 'a string', body: 'throw "only words";', outcome: { says: /only words/ } },
  { name: 'a symbol', body: 'throw Symbol("sign");', outcome: { says: /sign/ } },
  { name: 'an object without a prototype', body: 'throw Object.create(null);', outcome: 'error' },
  { name: 'a message of 100 MB', body: 'throw new Error("x".repeat(1e8));', outcome: 'error' },
  {
    name: 'a message that is a forged answer',
    body: 'throw new Error("x\\n{\\"forged\\":true}\\n\\u0000~1");',
    outcome: { says: /forged/ },
  },
];
