/** One endpoint's code in a context of its own, ready to be called. */
import ivm from 'isolated-vm';
import { placeIn } from '../stack-place.ts';
import { failureLine, MAX_MESSAGE_CHARACTERS, MAX_STACK_CHARACTERS } from '../../supervisor/messages.ts';
import type { Failure } from '../../supervisor/messages.ts';
import type { LoadRequest } from '../code-files.ts';
import { findFile, linkModules, sourceOf } from './modules.ts';

/** Answers what code asks while it runs; see `guest.js`. */
export type Host = (question: string, id: string, body: string, kind: string) => string | number;

/** Bytes that stand around a result in the line of a record. */
const AROUND_RESULT = '{"result":}'.length;

/**
 * A text of so many characters crosses as the only element of an array, which is copied. By itself, isolated-vm would make
 * an external string of it, which V8 frees with a full collection only and does not count when it looks whether to make
 * one: each side would keep all that ever came to it.
 */
const LONG_CHARACTERS = 1000;
const crossing = (text: string): string | [string] => (text.length < LONG_CHARACTERS ? text : [text]);
const textOf = (crossed: unknown): string => String(Array.isArray(crossed) ? crossed[0] : crossed);
/** Costs a call without such texts some percent, so that it goes without. */
const COPIED = { arguments: { copy: true }, result: { copy: true } } as const;

/** Milliseconds after which V8 ends the code. */
export interface Limit {
  readonly milliseconds: number;
  /** Whether one more such limit may be given to V8. */
  readonly mayAdd: (milliseconds: number) => boolean;
}

type Enter = ivm.Reference<(...args: never[]) => unknown>;

export class Realm {
  readonly #context: ivm.Context;
  /** Bytes. */
  readonly #maxResult: number;
  readonly #run: Enter;
  readonly #collect: Enter;

  private constructor(context: ivm.Context, maxResult: number, run: Enter, collect: Enter) {
    this.#context = context;
    this.#maxResult = maxResult;
    this.#run = run;
    this.#collect = collect;
  }

  /** Compiles the code and runs its top level. @throws Error with a sentence for the author of the KO. */
  static create(isolate: ivm.Isolate, boot: ivm.Script, load: LoadRequest, host: Host): Realm {
    const context = isolate.createContextSync();
    try {
      const enter = boot.runSync(context, { reference: true }) as Enter;
      const limits = [load.maxResult, MAX_MESSAGE_CHARACTERS, MAX_STACK_CHARACTERS, namesTimers(load)];
      const guest = enter.applySync(undefined, [new ivm.Callback(hostOf(host)), ...limits] as never[], {
        result: { reference: true },
      }) as ivm.Reference<Record<string, unknown>>;
      const get = (name: string): Enter => guest.getSync(name, { reference: true }) as Enter;
      try {
        loadCode(isolate, context, load, get);
      } catch (thrown) {
        throw withPlace(thrown, load);
      }
      return new Realm(context, load.maxResult, get('run'), get('collect'));
    } catch (thrown) {
      context.release();
      throw thrown;
    }
  }

  /**
   * Answers JSON texts joined by NUL, or records joined by line feeds, with one line each. `limit`: milliseconds after
   * which V8 ends the code, or none.
   */
  run(inputs: string, limit: Limit | undefined, areRecords = false): string {
    const timeout = limit === undefined ? {} : { timeout: Math.max(1, limit.milliseconds) };
    const all = crossing(inputs);
    const options = all === inputs ? timeout : { ...COPIED, ...timeout };
    const lines = textOf(this.#run.applySync(undefined, [all, areRecords] as never[], options));
    return this.#bounded(lines.startsWith('~') ? this.#collected(lines, limit) : lines, areRecords);
  }

  /** The microtasks have run after each entry; what waits then waits for a timer, or never settles. */
  #collected(first: string, limit: Limit | undefined): string {
    const collect = (lines: string, timeout?: number): string =>
      textOf(
        this.#collect.applySync(
          undefined,
          [Number(lines.slice(1))] as never[],
          timeout === undefined ? COPIED : { ...COPIED, timeout },
        ),
      );
    let lines = first;
    if (limit === undefined) {
      do lines = collect(lines);
      while (lines.startsWith('~'));
      return lines;
    }
    const ends = performance.now() + limit.milliseconds;
    do {
      const left = Math.ceil(ends - performance.now());
      if (left <= 0) throw new Error('Script execution timed out.');
      lines = collect(lines, lines === first || limit.mayAdd(left) ? left : undefined);
    } while (lines.startsWith('~'));
    return lines;
  }

  /** The guest counts characters; the limit is one of bytes. */
  #bounded(lines: string, areRecords: boolean): string {
    const most = this.#maxResult;
    if (lines.length * 3 <= most) return lines;
    const mostOfLine = areRecords ? most + AROUND_RESULT : most;
    const refusal = refuse(`the result is larger than the limit of ${most} bytes (--max-result)`);
    const all = lines.split('\n');
    return all.map((line) => (Buffer.byteLength(line) > mostOfLine ? refusal : line)).join('\n');
  }

  release(): void {
    this.#run.release();
    this.#collect.release();
    this.#context.release();
  }
}

function loadCode(isolate: ivm.Isolate, context: ivm.Context, load: LoadRequest, get: (name: string) => Enter): void {
  const source = sourceOf(load, load.entry);
  const script = /\.m[jt]s$/.test(load.entry) ? undefined : compileScript(isolate, source, load.entry);
  const kind =
    script === undefined ? loadModule(isolate, context, load, get) : runScript(isolate, context, script, load, get);
  if (kind === 'function') return;
  const wanted =
    load.function === ''
      ? 'no function is named in the deployment descriptor, and the file exports none'
      : `there is no function '${load.function}'`;
  throw new Error(
    kind === 'undefined'
      ? `${wanted} in ${load.entry}`
      : `'${load.function}' in ${load.entry} is not a function but ${String(kind)}`,
  );
}

/** Undefined when the text is an ES module. */
function compileScript(isolate: ivm.Isolate, source: string, filename: string): ivm.Script | undefined {
  try {
    return isolate.compileScriptSync(source, { filename });
  } catch (thrown) {
    if (thrown instanceof SyntaxError && MODULE_SYNTAX.test(thrown.message)) return undefined;
    throw thrown;
  }
}
const MODULE_SYNTAX =
  /import statement outside a module|Unexpected token 'export'|'import\.meta' outside a module|top level bodies of modules/;

function runScript(
  isolate: ivm.Isolate,
  context: ivm.Context,
  script: ivm.Script,
  load: LoadRequest,
  get: (name: string) => Enter,
): unknown {
  get('commonjs').applySync(undefined, [requireFrom(isolate, context, load)] as never[]);
  script.runSync(context, { timeout: load.limit });
  return get('find').applySync(undefined, [load.function] as never[], { timeout: load.limit });
}

/** `require` of other artifacts by relative path, for scripts of several files. */
function requireFrom(isolate: ivm.Isolate, context: ivm.Context, load: LoadRequest): unknown {
  if (Object.keys(load.files).length < 2) return undefined;
  const source = new ivm.Callback((path: string) => load.files[path] ?? '');
  const resolve = new ivm.Callback(
    withoutStack((wanted: string, from: string) => {
      const path = findFile(load, wanted, from);
      sourceOf(load, path);
      return '=' + path;
    }),
  );
  return context.evalClosureSync(REQUIRE, [source, resolve, load.entry], { result: { reference: true } }).derefInto();
}

/** What stands for an error on its way into an isolate, and in an answer; see `guest.js`. */
export const refuse = (message: string): string => failureLine(message.slice(0, MAX_MESSAGE_CHARACTERS));

/** An error that crosses into an isolate shows its code the files of the host. */
function withoutStack<T extends unknown[], A>(ask: (...asked: T) => A): (...asked: T) => A | string {
  return (...asked) => {
    try {
      return ask(...asked);
    } catch (thrown) {
      return refuse(thrown instanceof Error ? thrown.message : String(thrown));
    }
  };
}

function hostOf(host: Host): (...asked: unknown[]) => string | [string] | number {
  const ask = withoutStack(host);
  return (question, id, body, kind) => {
    const answer = ask(textOf(question), textOf(id), textOf(body), textOf(kind));
    return typeof answer === 'string' ? crossing(answer) : answer;
  };
}

const REQUIRE = `
  const source = $0, resolve = $1, cache = { __proto__: null }, evaluate = eval;
  const requireFor = (from) => (wanted) => {
    const found = resolve(String(wanted), from);
    if (found[0] === '!') throw new Error(JSON.parse(found.slice(2)).description);
    const path = found.slice(1);
    if (cache[path]) return cache[path].exports;
    const module = cache[path] = { exports: {} };
    if (path.endsWith('.json')) return (module.exports = JSON.parse(source(path)));
    // On one line with the source, so that its lines keep their numbers.
    evaluate('(function (module, exports, require) {' + source(path) + '\\n})\\n//# sourceURL=' + path).call(module.exports, module, module.exports, requireFor(path));
    return module.exports;
  };
  return requireFor($2);`;

function loadModule(
  isolate: ivm.Isolate,
  context: ivm.Context,
  load: LoadRequest,
  get: (name: string) => Enter,
): unknown {
  const main = linkModules(isolate, context, load);
  evaluate(isolate, context, main, load, get('fire'));
  const wanted = load.function === '' ? 'default' : load.function;
  for (const name of wanted === 'default' ? ['default'] : [wanted, 'default']) {
    const value = main.namespace.getSync(name, { reference: true });
    if (value.typeof === 'function') return get('use').applySync(undefined, [value.derefInto()] as never[]);
  }
  return main.namespace.getSync(wanted, { reference: true }).typeof;
}

/** Runs the top level of a module and all it imports. @throws Error also when a top-level `await` never settles. */
function evaluate(isolate: ivm.Isolate, context: ivm.Context, main: ivm.Module, load: LoadRequest, fire: Enter): void {
  const ends = performance.now() + load.limit;
  main.evaluateSync({ timeout: load.limit });
  // A module that imports another runs only after the other has run to its end.
  const after = isolate.compileModuleSync('import * as main from "main"; export const done = true;', {
    filename: 'kgrid:activator',
  });
  after.instantiateSync(context, () => main);
  after.evaluateSync({ timeout: load.limit });
  while (!isDone(after)) {
    const left = Math.ceil(ends - performance.now());
    if (left <= 0) throw new Error('Script execution timed out.');
    if (fire.applySync(undefined, [], { timeout: left }) !== true)
      throw new Error(`the top level of ${load.entry} awaits something that never settles`);
  }
}

function isDone(module: ivm.Module): boolean {
  try {
    module.namespace.getSync('done');
    return true;
  } catch {
    return false;
  }
}

/** Whether the code names what runs later than the call that asks for it. */
const namesTimers = ({ files }: LoadRequest): boolean => Object.values(files).some((text) => LATER.test(text));
const LATER = /set(?:Timeout|Interval)|queueMicrotask|AbortSignal|EventTarget/;

/** Puts the place where code threw while it loaded behind its message, as isolated-vm does for syntax errors. */
function withPlace(thrown: unknown, load: LoadRequest): unknown {
  if (!(thrown instanceof Error)) return thrown;
  const { message: all } = thrown;
  const message = all.slice(0, MAX_MESSAGE_CHARACTERS);
  if (/ \[[^[\]:]+:\d+:\d+\]$/.test(all.slice(-MAX_PLACE_CHARACTERS)) || TIMEOUT.test(message)) return thrown;
  // A stack begins with the message, and may be as large.
  const stack = all.length <= MAX_MESSAGE_CHARACTERS ? (thrown.stack ?? '') : '';
  const place = placeIn(stack, (file) => Object.hasOwn(load.files, file));
  thrown.message = place === undefined ? message : `${message} [${place.file}:${place.line}:${place.column}]`;
  return thrown;
}

/** Characters of ` [<file>:<line>:<column>]`. */
const MAX_PLACE_CHARACTERS = 1100;
const TIMEOUT = /execution timed out/i;
const NO_PLACE = / \[<isolated-vm>:\d+:\d+\]$/;
const NO_ERROR = /^An object was thrown from supplied code/;
/** How a run ends outside of its answers, such as by an unhandled rejection. */
export interface RunFailure extends Failure {
  readonly kind: 'timeout' | 'memory' | 'thrown' | 'unloaded';
}

/** What isolated-vm says then. */
export function failureOf(thrown: unknown, isolate: ivm.Isolate): RunFailure {
  const { name, message: all } = thrown instanceof Error ? thrown : { name: '', message: String(thrown) };
  const said = all.slice(0, MAX_MESSAGE_CHARACTERS);
  const message = NO_ERROR.test(said) ? 'the code threw an object that is no Error' : said.replace(NO_PLACE, '');
  if (TIMEOUT.test(message)) return { kind: 'timeout', description: message };
  if (isolate.isDisposed || /memory limit|Array buffer allocation failed/i.test(message))
    return { kind: 'memory', description: message };
  const words = name === '' ? message : `${name.slice(0, 200)}: ${message}`;
  // A stack begins with the message, and may be as large.
  const stack = thrown instanceof Error && all.length <= MAX_MESSAGE_CHARACTERS ? (thrown.stack ?? '') : '';
  const frames = stack.indexOf('\n    at ');
  return {
    kind: 'thrown',
    description: words,
    stack: frames < 0 ? '' : stack.slice(frames + 1, frames + 1 + MAX_STACK_CHARACTERS),
  };
}
