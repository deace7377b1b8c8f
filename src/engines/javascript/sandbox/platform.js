// Runs inside the isolate before `guest.js`: the part of the web platform that needs nothing outside. What a context
// does not use costs it one property: the source of a part is read from the host by the first access.
const installPlatform = function (host, timers, report) {
  'use strict';
  const { defineProperty } = Reflect;
  const evaluate = eval;
  const hidden = (value) => ({ __proto__: null, value, writable: true, enumerable: false, configurable: true });
  for (const name of ['global', 'self']) defineProperty(globalThis, name, hidden(globalThis));
  for (const name of Object.keys(timers.globals)) defineProperty(globalThis, name, hidden(timers.globals[name]));

  const parts = { __proto__: null };
  const kit = {
    host,
    timers,
    report,
    part(name) {
      if (parts[name] === undefined) {
        const crossed = host('part', name, '', '');
        const source = typeof crossed === 'string' ? crossed : crossed[0];
        parts[name] = evaluate(source + '\n//# sourceURL=kgrid:' + name)(kit);
      }
      return parts[name];
    },
    // What the standard calls an exception of this name.
    exception: (message, name) => new (kit.part('exceptions').DOMException)(message, name),
    define: (prototype, name) =>
      defineProperty(prototype, Symbol.toStringTag, {
        __proto__: null,
        value: name,
        writable: false,
        enumerable: false,
        configurable: true,
      }),
  };

  const lazy = (part, name) => {
    let given;
    let isGiven = false;
    defineProperty(globalThis, name, {
      __proto__: null,
      get() {
        return isGiven ? given : kit.part(part)[name];
      },
      set(value) {
        given = value;
        isGiven = true;
        defineProperty(globalThis, name, hidden(value));
      },
      enumerable: false,
      configurable: true,
    });
  };
  for (const [part, names] of [
    ['exceptions', ['DOMException']],
    ['encoding', ['TextEncoder', 'TextDecoder', 'atob', 'btoa']],
    ['events', ['Event', 'EventTarget', 'AbortController', 'AbortSignal']],
    ['url', ['URL', 'URLSearchParams']],
    ['clone', ['structuredClone']],
    ['crypto', ['crypto', 'performance']],
  ])
    for (const name of names) lazy(part, name);
};
