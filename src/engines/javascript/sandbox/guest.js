// Runs inside the isolate, in each new context, before any code of the knowledge object. It takes away what
// isolated-vm's limits cannot hold, keeps the built-ins it needs out of the reach of later changes, and
// gives back the functions by which calls enter. Only strings cross the boundary.
//
// An answer is one line: JSON, or `!`, a digit that says why there is no result, and a JSON object: its `description`, the `stack`
// where there is one, and the `status` of an input that the code finds invalid.
// JSON.stringify writes no raw newline, so a line cannot be forged.
// `mayTime`: the code names what runs later, such as timers.
(function (host, maxResult, maxMessage, maxStack, mayTime) {
  'use strict';
  // See `odd-numbers.js`.
  const oddNumberIn = makeOddNumberIn();
  // What fails outside of the functions that the host enters fails the calls that wait.
  const report = (thrown) => {
    const line = why(thrown);
    if (running === undefined) log('error')(thrown);
    else running.uncaught ??= line;
  };
  const timers = makeTimers(report);
  const { parse, stringify } = JSON;
  const { apply, defineProperty } = Reflect;
  const { hasOwn } = Object;
  const { charCodeAt, indexOf, substring, slice } = String.prototype;
  const { toString: errorToString } = Error.prototype;
  const { test } = RegExp.prototype;
  const { add, has } = WeakSet.prototype;
  const ErrorType = Error;
  const TypeErrorType = TypeError;
  const text = String;
  const evaluate = eval;

  // Not held by the heap limit or the time limit of an isolate: shared and growing memory, waiting threads.
  for (const name of ['WebAssembly', 'SharedArrayBuffer', 'Atomics']) delete globalThis[name];
  const PlainArrayBuffer = ArrayBuffer;
  const FixedArrayBuffer = function ArrayBuffer(length) {
    if (new.target === undefined) throw new TypeErrorType("Constructor ArrayBuffer requires 'new'");
    return new PlainArrayBuffer(length);
  };
  FixedArrayBuffer.prototype = PlainArrayBuffer.prototype;
  FixedArrayBuffer.isView = PlainArrayBuffer.isView;
  defineProperty(PlainArrayBuffer.prototype, 'constructor', {
    value: FixedArrayBuffer,
    writable: true,
    configurable: true,
  });
  defineProperty(globalThis, 'ArrayBuffer', { value: FixedArrayBuffer, writable: true, configurable: true });
  defineProperty(ErrorType, 'prepareStackTrace', { value: undefined, writable: false, configurable: false });

  // How long texts cross: see `LONG_CHARACTERS` in `realm.ts`.
  const LONG = 1000;
  const crossing = (text) => (text.length < LONG ? text : [text]);
  const textOf = (crossed) => (typeof crossed === 'string' ? crossed : crossed[0]);

  // As in `answers` of `messages.ts`.
  const THROWN = '1';
  const INVALID = '3';
  const UNREADABLE = '4';
  const UNWRITABLE = '6';
  // `!`, with which no JSON begins.
  const FAILED = 0x21;
  const told = (kind, message, more = '') =>
    '!' + kind + '{"description":' + stringify(apply(slice, message, [0, maxMessage])) + more + '}';

  // Errors of calls that code made: whatever the code makes of them, they do not say that its own input is invalid.
  const nested = new WeakSet();
  const invalid = (thrown) => {
    if (typeof thrown !== 'object' || thrown === null || apply(has, nested, [thrown])) return undefined;
    if (thrown.name !== 'InvalidInputError') return undefined;
    const { status } = thrown;
    if (status !== 400 && status !== 422) return undefined;
    const { message } = thrown;
    const said = typeof message === 'string' && message !== '' ? message : 'the input is invalid';
    return told(INVALID, said, ',"status":' + status);
  };

  // The frames of an error, which may say where the code threw. They are text of the code like its message.
  const framesOf = (thrown) => {
    if (!(thrown instanceof ErrorType)) return '';
    const { stack } = thrown;
    if (typeof stack !== 'string') return '';
    const at = apply(indexOf, stack, ['\n    at ']);
    return at < 0 ? '' : ',"stack":' + stringify(apply(slice, stack, [at + 1, at + 1 + maxStack]));
  };
  const orNothing = (read, thrown) => {
    try {
      return read(thrown);
    } catch {
      return undefined;
    }
  };

  // What an error says, whatever was thrown; getters of the code may run here, inside the time limit.
  const why = (thrown, kind = THROWN) => {
    const fault = orNothing(invalid, thrown);
    if (fault !== undefined) return fault;
    let said;
    try {
      if (thrown instanceof ErrorType) said = apply(errorToString, thrown, []);
      else if (typeof thrown !== 'object' || thrown === null) said = text(thrown);
      else said = typeof thrown.message === 'string' ? thrown.message : stringify(thrown);
      said = text(said);
    } catch {
      said = 'an error that cannot be read';
    }
    return told(kind, said, orNothing(framesOf, thrown) ?? '');
  };

  // The specification is silent on results that JSON does not know: `undefined`, functions and symbols are null.
  const written = (value) => {
    let json;
    try {
      json = stringify(value);
    } catch (thrown) {
      const odd = oddNumberIn(value);
      return odd === undefined ? why(thrown, UNWRITABLE) : told(UNWRITABLE, 'the result holds ' + odd);
    }
    if (json === undefined) return 'null';
    if (json.length > maxResult)
      return told(UNWRITABLE, 'the result is larger than the limit of ' + maxResult + ' bytes (--max-result)');
    // JSON writes null for NaN and Infinity.
    if (apply(indexOf, json, ['null']) < 0) return json;
    const odd = oddNumberIn(value);
    return odd === undefined ? json : told(UNWRITABLE, 'the result holds ' + odd);
  };

  // ----- the function of the knowledge object -----
  let main;
  const moduleObject = { exports: {} };

  const isName = /^[\p{ID_Start}$_][\p{ID_Continue}$]*(\.[\p{ID_Start}$_][\p{ID_Continue}$]*)*$/u;
  const global = (name) => {
    if (!apply(test, isName, [name])) return undefined;
    try {
      return evaluate(name);
    } catch {
      return undefined;
    }
  };
  const exportOf = (object, name) => {
    try {
      return object !== null && (typeof object === 'object' || typeof object === 'function') ? object[name] : undefined;
    } catch {
      return undefined;
    }
  };

  const ownExportOf = (object, name) => {
    try {
      return hasOwn(object, name) ? object[name] : undefined;
    } catch {
      return undefined;
    }
  };

  // ----- calls of other knowledge objects -----
  const isJsonType = /^[^;]*[/+]json\s*(?:;|$)/i;
  const ask = (question, id, body, kind) => {
    const answer = textOf(host(question, id, body, kind));
    if (apply(charCodeAt, answer, [0]) === FAILED) {
      const { description: message } = parse(apply(substring, answer, [2]));
      // Else each level of calls would put one more `Error: ` before it.
      const error = new ErrorType(
        apply(indexOf, message, ['Error: ']) === 0 ? apply(substring, message, [7]) : message,
      );
      apply(add, nested, [error]);
      throw error;
    }
    return answer;
  };
  const context = {
    getExecutor(id) {
      const key = text(id);
      if (ask('find', key, '', '') === 'null') return null;
      return {
        execute(input, contentType) {
          const type = contentType === undefined || contentType === null ? '' : text(contentType);
          const isText = typeof input === 'string';
          // A string input with a JSON content type is parsed for the callee.
          const isJson = !isText || apply(test, isJsonType, [type]);
          const body = isText ? input : (stringify(input) ?? 'null');
          return parse(ask('call', key, body, isJson ? 'application/json' : type));
        },
      };
    },
    getProperty(name) {
      return parse(ask('property', text(name), '', ''));
    },
  };
  defineProperty(globalThis, 'context', { value: context, writable: true, configurable: true });

  installPlatform(host, timers, report);

  // ----- console: to the log of the knowledge object -----
  const shown = (value) => {
    try {
      if (typeof value === 'string') return value;
      if (value instanceof ErrorType) return apply(errorToString, value, []);
      return stringify(value) ?? text(value);
    } catch {
      return '[unreadable]';
    }
  };
  const log = (level) =>
    function () {
      let line = '';
      for (let i = 0; i < arguments.length; i++) line += (i === 0 ? '' : ' ') + shown(arguments[i]);
      host('log', level, apply(slice, line, [0, 2000]), '');
    };
  const console = {
    log: log('info'),
    info: log('info'),
    warn: log('warn'),
    error: log('error'),
    debug: log('debug'),
    trace: log('debug'),
  };
  defineProperty(globalThis, 'console', { value: console, writable: true, configurable: true });

  // ----- the entry of calls -----
  const lineOfRecord = (line) => (apply(charCodeAt, line, [0]) === FAILED ? line + '\n' : '{"result":' + line + '}\n');
  let sequence = 0;
  const open = { __proto__: null };
  // The batch that runs now.
  let running;
  // Each batch has an object of its own, so that a promise kept from one batch cannot answer in the next.
  const settle = async (batch, at, promise) => {
    let line;
    try {
      line = written(await promise);
    } catch (thrown) {
      line = why(thrown);
    }
    answer(batch, at, line);
  };
  const answer = (batch, at, line) => {
    const { answers } = batch;
    if (answers[at] !== undefined) return;
    answers[at] = line;
    batch.waiting--;
  };
  const NEVER = 'the promise that the function returned never settles';
  // Answers the calls that have begun and wait. Where several do, nobody knows which of them failed.
  const answerOpen = (batch, line) => {
    for (let i = 0; batch.waiting > 0; i++) answer(batch, i, line);
  };
  const failUncaught = (batch) => {
    const line = batch.uncaught;
    batch.uncaught = undefined;
    if (batch.waiting === 1) answerOpen(batch, line);
    else if (line !== undefined) log('error')('uncaught: ' + line);
  };
  // Begins calls, until all have begun or one may set what must not run in another.
  const begin = (batch) => {
    const { all, between, areRecords, answers } = batch;
    let { begun, from, out } = batch;
    running = batch;
    for (;;) {
      const at = apply(indexOf, all, [between, from]);
      const body = at < 0 ? apply(substring, all, [from]) : apply(substring, all, [from, at]);
      let line;
      let input;
      let readable = true;
      try {
        input = parse(body);
      } catch (thrown) {
        readable = false;
        line = told(UNREADABLE, text(thrown.message));
      }
      if (readable) {
        try {
          const value = main(input);
          if (value !== null && typeof value === 'object' && typeof value.then === 'function') {
            batch.isWhole = false;
            batch.waiting++;
            settle(batch, begun, value);
          } else line = written(value);
        } catch (thrown) {
          line = why(thrown);
        }
      }
      if (batch.uncaught !== undefined) {
        if (line === undefined) batch.waiting--;
        line = batch.uncaught;
        batch.uncaught = undefined;
      }
      answers[begun] = line;
      if (line !== undefined) out += areRecords ? lineOfRecord(line) : begun === 0 ? line : '\n' + line;
      begun++;
      from = at < 0 ? -1 : at + 1;
      if (from < 0 || timers.used || (line === undefined && mayTime)) break;
    }
    batch.begun = begun;
    batch.from = from;
    batch.out = out;
  };
  const later = (batch) => {
    open[++sequence] = batch;
    return '~' + sequence;
  };

  return {
    // Lets a CommonJS-style script see `module`, `exports` and `require`.
    commonjs(require) {
      defineProperty(globalThis, 'module', { value: moduleObject, writable: true, configurable: true });
      defineProperty(globalThis, 'exports', { value: moduleObject.exports, writable: true, configurable: true });
      if (require) defineProperty(globalThis, 'require', { value: require, writable: true, configurable: true });
    },
    // Finds the function after a classic script ran: what it exports by that name, since a bundle may have a global of
    // the same name that is another function, else a global of any kind, else what the script exports.
    find(name) {
      const exported = moduleObject.exports;
      for (const candidate of [
        name === '' ? undefined : ownExportOf(exported, name),
        name === '' ? undefined : global(name),
        name === '' ? undefined : exportOf(exported, name),
        exported,
        exportOf(exported, 'default'),
      ]) {
        if (typeof candidate === 'function') {
          main = candidate;
          return 'function';
        }
      }
      const other = name === '' ? undefined : global(name);
      return typeof other;
    },
    use(value) {
      if (typeof value === 'function') main = value;
      return typeof value;
    },
    // Input: JSON texts joined by NUL, which no JSON text holds. Output: one line each, or `~` and a number for
    // `collect`: after the microtasks have run when a promise is among the results, or since it is long.
    // Of records it is line feeds that join them, and a result has its place in a line of the answer.
    run(crossed, areRecords) {
      timers.drop();
      const batch = {
        all: textOf(crossed),
        between: areRecords ? '\n' : '\0',
        areRecords,
        from: 0,
        begun: 0,
        waiting: 0,
        isWhole: true,
        out: '',
        uncaught: undefined,
        answers: { __proto__: null },
      };
      begin(batch);
      if (!batch.isWhole || batch.from >= 0) return later(batch);
      running = undefined;
      const { out } = batch;
      return typeof crossed !== 'string' || out.length < LONG ? crossing(out) : later(out);
    },
    // Goes on with what has an answer only after the microtasks have run: the host calls it until no `~` comes back.
    collect(id) {
      const batch = open[id];
      delete open[id];
      if (typeof batch === 'string') return crossing(batch);
      if (batch.uncaught !== undefined) failUncaught(batch);
      if (batch.waiting > 0 && timers.fire()) return later(batch);
      answerOpen(batch, told(THROWN, NEVER));
      timers.drop();
      if (batch.from >= 0) {
        begin(batch);
        return later(batch);
      }
      running = undefined;
      const { answers, areRecords, begun } = batch;
      let out = '';
      for (let i = 0; i < begun; i++) out += areRecords ? lineOfRecord(answers[i]) : (i === 0 ? '' : '\n') + answers[i];
      return crossing(out);
    },
    // At the top level of modules: lets a timer fire for which it waits.
    fire: () => timers.fire(),
  };
});
