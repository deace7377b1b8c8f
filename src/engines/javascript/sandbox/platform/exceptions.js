// Runs inside the isolate; see `platform.js`.
(function (kit) {
  'use strict';
  const { define } = kit;
  const { defineProperty } = Reflect;
  const text = String;
  const CODES = {
    __proto__: null,
    IndexSizeError: 1,
    HierarchyRequestError: 3,
    WrongDocumentError: 4,
    InvalidCharacterError: 5,
    NoModificationAllowedError: 7,
    NotFoundError: 8,
    NotSupportedError: 9,
    InUseAttributeError: 10,
    InvalidStateError: 11,
    SyntaxError: 12,
    InvalidModificationError: 13,
    NamespaceError: 14,
    InvalidAccessError: 15,
    TypeMismatchError: 17,
    SecurityError: 18,
    NetworkError: 19,
    AbortError: 20,
    URLMismatchError: 21,
    QuotaExceededError: 22,
    TimeoutError: 23,
    InvalidNodeTypeError: 24,
    DataCloneError: 25,
  };
  class DOMException extends Error {
    constructor(message = '', options = 'Error') {
      super(text(message));
      const isObject = typeof options === 'object' && options !== null;
      const name = isObject ? (options.name ?? 'Error') : options;
      defineProperty(this, 'name', { __proto__: null, value: text(name), writable: true, configurable: true });
      if (isObject && 'cause' in options)
        defineProperty(this, 'cause', { __proto__: null, value: options.cause, writable: true, configurable: true });
    }
    get code() {
      return CODES[this.name] ?? 0;
    }
  }
  for (const name in CODES) {
    const constant =
      name
        .replace(/Error$/, '')
        .replace(/(?!^)([A-Z][a-z])/g, '_$1')
        .toUpperCase() + '_ERR';
    for (const each of [DOMException, DOMException.prototype])
      defineProperty(each, constant, { __proto__: null, value: CODES[name], enumerable: true });
  }
  define(DOMException.prototype, 'DOMException');
  return { DOMException };
});
