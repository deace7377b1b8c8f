/** Reads the code of one endpoint: its artifacts, and what those import from the package, as JavaScript. */
import { withoutMark } from '../../lib/text.ts';
import { ActivationFailure, type EndpointPlan } from '../engine.ts';
import { candidatesFor, CODE, isRelative, JSON_FILE, pathOf, pathsIn, TYPESCRIPT } from './relative-imports.ts';
import type { TypeStripper } from './typescript/type-stripper.ts';

export interface CodeFiles {
  /** By path. */
  readonly files: Record<string, string>;
  /** Why files cannot be loaded; no fault of an endpoint that does not load them. */
  readonly faults: Record<string, string>;
  /** Names of types that the TypeScript among them declares. */
  readonly types: string[];
}

/** Beside the artifacts that the deployment descriptor lists. */
const MAX_IMPORTED_FILES = 1000;
const MAX_IMPORTED_BYTES = 50 * 2 ** 20;
/** Milliseconds for the TypeScript of one endpoint. */
const TYPESCRIPT_TIMEOUT = 10_000;

type Plan = Pick<EndpointPlan, 'entry' | 'artifacts' | 'files' | 'read'>;

/** @throws ActivationFailure where that is too much. */
export async function readCode(plan: Plan, stripper: TypeStripper): Promise<CodeFiles> {
  const code: CodeFiles = { files: byPath(), faults: byPath(), types: [] };
  const listed = new Set([plan.entry, ...plan.artifacts].filter((path) => path === plan.entry || CODE.test(path)));
  const imported = new Imported(plan, listed);
  let spent = 0;
  for (const path of imported.all) {
    const text = withoutMark((await plan.read(path)).toString('utf8'));
    code.files[path] = text;
    if (JSON_FILE.test(path)) continue;
    if (TYPESCRIPT.test(path)) {
      const began = performance.now();
      const stripped = await stripper.strip(path, text);
      spent += performance.now() - began;
      if (spent > TYPESCRIPT_TIMEOUT)
        throw new ActivationFailure(
          `the types of its TypeScript are not out within ${TYPESCRIPT_TIMEOUT / 1000} s: compile it to JavaScript (${path})`,
        );
      if ('fault' in stripped) {
        code.faults[path] = stripped.fault;
        continue;
      }
      code.files[path] = stripped.text;
      code.types.push(...stripped.types);
    }
    imported.addAllOf(path, code.files[path]);
  }
  return code;
}

/** What code may import, found while it is read. */
class Imported {
  /** Grows while it is gone through. */
  readonly all: Set<string>;
  readonly #plan: Plan;
  readonly #listed: ReadonlySet<string>;
  #bytes = 0;

  constructor(plan: Plan, listed: ReadonlySet<string>) {
    this.#plan = plan;
    this.#listed = listed;
    this.all = new Set(listed);
  }

  /** @throws ActivationFailure. */
  addAllOf(from: string, text: string): void {
    for (const wanted of pathsIn(text, MAX_PATHS)) {
      const path = isRelative(wanted) ? pathOf(wanted, from) : undefined;
      const found = path === undefined ? undefined : candidatesFor(path).find((each) => this.#isThere(each));
      if (found !== undefined && CODE.test(found) && !this.all.has(found)) this.#add(found);
    }
  }

  #isThere(path: string): boolean {
    return this.#listed.has(path) || this.#plan.files.get(path) !== undefined;
  }

  #add(path: string): void {
    this.all.add(path);
    this.#bytes += this.#plan.files.get(path)?.size ?? 0;
    const many = this.all.size - this.#listed.size > MAX_IMPORTED_FILES;
    if (!many && this.#bytes <= MAX_IMPORTED_BYTES) return;
    const most = many ? `${MAX_IMPORTED_FILES} files` : `${MAX_IMPORTED_BYTES / 2 ** 20} MB`;
    throw new ActivationFailure(
      `its code imports more than ${most} beside its artifacts: join the files, or give data with the input (${this.#plan.entry})`,
    );
  }
}

/** Of one file; more are none that a person wrote. */
const MAX_PATHS = 10_000;

const byPath = (): Record<string, string> => Object.create(null) as Record<string, string>;

/** All that a sandbox needs to bring one endpoint to life. */
export interface LoadRequest {
  heapMb: number;
  maxResult: number;
  /** Milliseconds for compiling and for the top level. */
  limit: number;
  entry: string;
  function: string;
  freshContext: boolean;
  /** JavaScript and JSON, by path. */
  files: Record<string, string>;
  /** Why some of them cannot be loaded. */
  faults: Record<string, string>;
  /** Names of types that were taken out of them. */
  types: readonly string[];
  /** What `context.getProperty` knows. */
  properties: Record<string, string>;
}

/** To `find`: where the endpoint is. */
export type Found =
  | { kind: 'none' }
  | { kind: 'here'; slot: number; load?: LoadRequest; limit: number }
  | { kind: 'elsewhere' };
