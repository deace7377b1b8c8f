/** Finds the function of an endpoint in its entry module, CommonJS or ES module. */
import { relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describeLoad } from './describe.ts';
import { refusedAddons } from './restrict.ts';

export interface Endpoint {
  /** Absolute path of the entry module. */
  readonly file: string;
  /** Folder of the knowledge object. */
  readonly root: string;
  readonly function: string;
  /** No function of the module is wanted, but one that lists those that it exports. */
  readonly listsExports?: boolean;
}

export type KnowledgeFunction = (input: unknown) => unknown;

/** @throws Error whose message tells the author what is wrong, and where. */
export async function loadFunction(endpoint: Endpoint): Promise<KnowledgeFunction> {
  let module: Record<string, unknown>;
  try {
    module = (await import(pathToFileURL(endpoint.file).href)) as Record<string, unknown>;
  } catch (error) {
    const said = describeLoad(error, endpoint.root);
    const [addon] = refusedAddons();
    throw new LoadError(addon === undefined || said.includes(addon) ? said : `${said} (${addon})`);
  }
  if (endpoint.listsExports === true) {
    const names = functionsOf(module);
    return () => names;
  }
  const found = pick(module, endpoint.function);
  if (found) return found;
  throw new LoadError(
    `${relative(endpoint.root, endpoint.file)} has no function ${endpoint.function}; it exports ${exported(module)}`,
  );
}

export class LoadError extends Error {}

/** The export of that name, of the module or of `module.exports`; else the default export or `module.exports` itself. */
function pick(module: Record<string, unknown>, name: string): KnowledgeFunction | undefined {
  const main = module['default'];
  const inMain =
    isObject(main) && Object.hasOwn(main as object, name) ? (main as Record<string, unknown>)[name] : undefined;
  for (const candidate of [module[name], inMain, main]) {
    if (typeof candidate === 'function') return candidate as KnowledgeFunction;
  }
  return undefined;
}

/** The names under which a module, or its `module.exports`, gives functions; `default` for the one that is all of it. */
function functionsOf(module: Record<string, unknown>): string[] {
  const main = module['default'];
  const isCommonJs = Object.hasOwn(module, 'module.exports');
  const source = isCommonJs && isObject(main) && !isClass(main) ? (main as Record<string, unknown>) : module;
  const names = Object.keys(source).filter((name) => name !== 'module.exports' && isFunction(source[name]));
  return isCommonJs && isFunction(main) && !names.includes('default') ? [...names, 'default'] : names;
}

/** One that can be called without `new`. */
const isFunction = (value: unknown): boolean => typeof value === 'function' && !isClass(value);

const isClass = (value: unknown): boolean => typeof value === 'function' && /^class\b/.test(String(value));

const isObject = (value: unknown): boolean =>
  (typeof value === 'object' && value !== null) || typeof value === 'function';

function exported(module: Record<string, unknown>): string {
  const main = module['default'];
  const names = new Set([...Object.keys(module), ...(isObject(main) ? Object.keys(main as object) : [])]);
  for (const name of ['default', 'module.exports']) names.delete(name);
  return [...names].slice(0, 20).join(', ') || 'nothing';
}
