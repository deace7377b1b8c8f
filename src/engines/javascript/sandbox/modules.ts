/** Links the modules of one endpoint, and finds files for what code asks. */
import type ivm from 'isolated-vm';
import type { LoadRequest } from '../code-files.ts';
import { JSON_FILE, TYPESCRIPT, candidatesFor, isRelative, pathOf } from '../relative-imports.ts';

/** Compiles and links the entry with all that it imports. @throws Error with a sentence for the author of the KO. */
export function linkModules(isolate: ivm.Isolate, context: ivm.Context, load: LoadRequest): ivm.Module {
  const types = new Set(load.types);
  const stubs = new Map<string, string[]>();
  for (;;) {
    const graph = new Graph(isolate, load, stubs);
    try {
      return graph.link(context);
    } catch (thrown) {
      // An import that is a type only imports nothing, which nobody can tell before the modules are linked.
      const [, wanted = '', name = ''] = NOT_EXPORTED.exec(thrown instanceof Error ? thrown.message : '') ?? [];
      const target = types.has(name) ? graph.targetOf(wanted, name) : undefined;
      if (target === undefined) throw thrown;
      stubs.set(target, [...(stubs.get(target) ?? []), name]);
    }
  }
}

const NOT_EXPORTED = /^The requested module '(.+)' does not provide an export named '([^']+)'/;

class Graph {
  readonly #isolate: ivm.Isolate;
  readonly #load: LoadRequest;
  readonly #stubs: ReadonlyMap<string, readonly string[]>;
  readonly #modules = new Map<string, ivm.Module>();
  readonly #names = new Map<ivm.Module, string>();
  /** What TypeScript asks for, and which files it gets. */
  readonly #asked = new Map<string, Set<string>>();

  constructor(isolate: ivm.Isolate, load: LoadRequest, stubs: ReadonlyMap<string, readonly string[]>) {
    this.#isolate = isolate;
    this.#load = load;
    this.#stubs = stubs;
  }

  link(context: ivm.Context): ivm.Module {
    const main = this.#compile(this.#load.entry);
    main.instantiateSync(context, (wanted, from) => {
      const asks = this.#names.get(from) ?? this.#load.entry;
      const path = findFile(this.#load, wanted, asks);
      if (TYPESCRIPT.test(asks)) this.#asked.set(wanted, (this.#asked.get(wanted) ?? new Set()).add(path));
      return this.#compile(path);
    });
    return main;
  }

  /** The file that lacks an export which TypeScript asks of it. */
  targetOf(wanted: string, name: string): string | undefined {
    return [...(this.#asked.get(wanted) ?? [])].find((path) => this.#stubs.get(path)?.includes(name) !== true);
  }

  #compile(path: string): ivm.Module {
    const known = this.#modules.get(path);
    if (known !== undefined) return known;
    const stubs = (this.#stubs.get(path) ?? []).map((name) => `;let kgrid$${name};export{kgrid$${name} as ${name}}`);
    const module = this.#compileText(moduleText(this.#load, path) + stubs.join(''), path);
    this.#modules.set(path, module);
    this.#names.set(module, path);
    return module;
  }

  #compileText(text: string, filename: string): ivm.Module {
    try {
      return this.#isolate.compileModuleSync(text, { filename });
    } catch (thrown) {
      if (!(thrown instanceof Error) || !thrown.message.startsWith("Unexpected identifier 'assert'")) throw thrown;
      // As attributes of imports were written before they were called `with`.
      return this.#isolate.compileModuleSync(text.replaceAll(ASSERTION, '$1with  $2'), { filename });
    }
  }
}

const ASSERTION = /((?:\bfrom|\bimport)[ \t]{0,9}(?:'[^'\n]{1,999}'|"[^"\n]{1,999}")[ \t]{0,9})assert([ \t]{0,9}\{)/g;

function moduleText(load: LoadRequest, path: string): string {
  const text = sourceOf(load, path);
  // A text, since `__proto__` is another thing in a literal.
  return JSON_FILE.test(path) ? `export default JSON.parse(${JSON.stringify(checkedJson(text, path))});` : text;
}

/** @throws Error that names the file, where it is no JSON. */
function checkedJson(text: string, path: string): string {
  try {
    JSON.parse(text);
    return text;
  } catch (thrown) {
    const why = thrown instanceof Error ? thrown.message : String(thrown);
    throw new Error(`${path} is not valid JSON: ${why}`, { cause: thrown });
  }
}

/** @throws Error where the file cannot be loaded. */
export function sourceOf(load: LoadRequest, path: string): string {
  const fault = Object.hasOwn(load.faults, path) ? load.faults[path] : undefined;
  if (fault !== undefined) throw new Error(fault);
  return load.files[path] ?? '';
}

/** The file of the package that an import or a `require` means. @throws Error that names what is asked for and where. */
export function findFile(load: LoadRequest, wanted: string, from: string): string {
  const asks = `${from} asks for '${wanted.slice(0, MAX_WANTED)}'`;
  const place = placeOf(load, wanted, from);
  if (!isRelative(wanted)) {
    const how = SCHEME.test(wanted)
      ? 'only files of the package can be imported'
      : `only files of the package can be imported, by relative path such as './${wanted.slice(0, MAX_WANTED)}'`;
    throw new Error(`${asks}: ${how}${place}`);
  }
  const path = pathOf(wanted, from);
  if (path === undefined) throw new Error(`${asks}, which leads out of the package${place}`);
  const found = candidatesFor(path).find((each) => Object.hasOwn(load.files, each));
  if (found !== undefined) return found;
  throw new Error(`${asks}, but ${path === '' ? 'index.js' : path} is not in the package${place}`);
}

const MAX_WANTED = 200;
const SCHEME = /^[a-z][a-z\d+.-]*:/i;

/** As isolated-vm says places: the first line on which it stands as a text. */
function placeOf(load: LoadRequest, wanted: string, from: string): string {
  const text = load.files[from] ?? '';
  const at = ["'", '"', '`'].map((quote) => text.indexOf(quote + wanted + quote)).find((index) => index >= 0);
  if (at === undefined) return '';
  const before = text.slice(0, at).split('\n');
  return ` [${from}:${before.length}:${(before.at(-1) ?? '').length + 1}]`;
}
