/**
 * The endpoints of a knowledge object that deploys nothing and offers a library: each function that one of its files
 * exports. Which these are is known once the file was loaded; until then one endpoint with the name of its service
 * stands for the file, and lists them when it is activated.
 */
import { ActivationFailure, type Executor } from '../engines/engine.ts';
import { SERVICE_FILE } from '../knowledge-object/deployed-services.ts';
import type { Deployment, DeploymentEntry } from '../knowledge-object/descriptors/deployment.ts';
import { parseService } from '../knowledge-object/descriptors/service.ts';
import type { KoId } from '../knowledge-object/id.ts';
import {
  isFunctionName,
  type KoMetadata,
  libraryEngine,
  METADATA_FILE,
  metadataProblem,
} from '../knowledge-object/metadata.ts';
import { messageOf } from '../lib/errors.ts';
import { escapeForMessage } from '../lib/text.ts';
import { uptime } from '../lib/time.ts';
import type { LoadedService } from './loaded-ko.ts';

type Files = Pick<ReadonlyMap<string, unknown>, 'has' | 'keys'>;

/** One file of a library. */
interface Unit {
  /** Path of the endpoint that stands for it. */
  readonly path: string;
  /** Of its service. */
  readonly name: string;
  readonly description: string | undefined;
  readonly file: string;
  readonly engine: string;
  /** Why it is not loaded. */
  readonly problem?: string;
}

/** As workers name the default export. */
const DEFAULT = 'default';
/** Of a knowledge object: with each file that is listed, its endpoints and their descriptor are made again. */
const MOST_FUNCTIONS = 1000;
const MOST_FILES = 100;

export class Library {
  /** Path of the service descriptor that is made for it, in the package. */
  readonly file: string;
  readonly #details: KoMetadata;
  readonly #id: KoId;
  readonly #files: Files;
  readonly #units: readonly Unit[];
  /** Names that the files export, of those that were listed. */
  readonly #exported = new Map<Unit, readonly string[]>();
  #made: { readonly service: LoadedService; readonly text: string } | undefined;

  private constructor(details: KoMetadata, id: KoId, files: Files, units: readonly Unit[]) {
    this.file = files.has(SERVICE_FILE) ? OTHER_FILE : SERVICE_FILE;
    this.#details = details;
    this.#id = id;
    this.#files = files;
    this.#units = units;
  }

  /** Undefined where the knowledge object offers none. */
  static of(details: KoMetadata, id: KoId, files: Files): Library | undefined {
    const paths = new Set<string>();
    const units = (details.libraries ?? []).flatMap(({ name, description, files: ofService }) =>
      ofService.map((file) => {
        let path = `/${name}`;
        for (let i = 2; paths.has(path); i++) path = `/${name.slice(0, 60)}-${String(i)}`;
        paths.add(path);
        return { path, name, description, file, engine: libraryEngine(file) ?? '' };
      }),
    );
    const [first] = units;
    if (first === undefined) return undefined;
    const problem = `the libraries in ${METADATA_FILE} name more than ${MOST_FILES} files: divide them among knowledge objects`;
    return new Library(details, id, files, units.length > MOST_FILES ? [{ ...first, problem }] : units);
  }

  /** Its endpoints, as they are known. */
  get service(): LoadedService {
    return this.#now().service;
  }

  /** The service descriptor. */
  get descriptor(): string {
    return this.#now().text;
  }

  /** `path`: of the endpoint that has listed them. @throws ActivationFailure where all files together have too many. */
  take(path: string, exported: readonly string[]): void {
    const unit = this.#units.find((each) => each.path === path);
    if (unit === undefined) return;
    const others = [...this.#exported].filter(([each]) => each !== unit).flatMap(([, names]) => names);
    if (others.length + exported.length > MOST_FUNCTIONS)
      throw new ActivationFailure(
        `${escapeForMessage(unit.file)} and the other files of its libraries export more than ${MOST_FUNCTIONS} functions: divide them among knowledge objects`,
      );
    this.#exported.set(unit, exported);
    this.#made = undefined;
  }

  /** The files of these engines are listed again. */
  forget(isMeant: (engine: string) => boolean): void {
    for (const unit of this.#exported.keys()) if (isMeant(unit.engine)) this.#exported.delete(unit);
    this.#made = undefined;
  }

  #now(): { readonly service: LoadedService; readonly text: string } {
    this.#made ??= this.#make();
    return this.#made;
  }

  #make(): { readonly service: LoadedService; readonly text: string } {
    const lineOf = (field: string): number | undefined => metadataProblem(this.#details.text, field, '').line;
    const line = lineOf('hasService') ?? lineOf('koio:hasService') ?? 1;
    const entries = new Map<string, DeploymentEntry>();
    const operations: LibraryOperation[] = [];
    const add = (path: string, unit: Unit, entry: Partial<DeploymentEntry>): void => {
      entries.set(path, { ...this.#entryOf(path, unit, line), ...entry });
      operations.push({ path, description: unit.description, ...(entry.listsExports && { isFile: true }) });
    };
    const owners = new Map<string, Unit>();
    const others = new Map<string, Unit[]>();
    for (const unit of this.#units) {
      for (const name of this.#exported.get(unit) ?? []) {
        const path = `/${name === DEFAULT ? unit.name : name}`;
        const owner = owners.get(path);
        if (owner === undefined) {
          owners.set(path, unit);
          add(path, unit, { function: name, isLoaded: true });
        } else others.set(path, [...(others.get(path) ?? []), unit]);
      }
    }
    // A file that is not listed yet has its place where no function took that.
    for (const unit of this.#units)
      if (!this.#exported.has(unit) && !entries.has(unit.path)) add(unit.path, unit, { listsExports: true });
    for (const [path, units] of others) {
      const entry = entries.get(path);
      const owner = owners.get(path);
      if (entry !== undefined && owner !== undefined) entries.set(path, { ...entry, note: noteOf(owner, units) });
    }
    const apiVersion = this.#id.version.replace(/^v(?=.)/, '');
    const text = libraryDescriptor({ id: this.#id, apiVersion, details: this.#details, operations });
    const deployment: Deployment = {
      file: METADATA_FILE,
      endpoints: new Map([...entries].map(([path, entry]) => [path, [entry]])),
    };
    return { service: { service: parseService(text, this.file), deployment, folder: '', of: 0, apiVersion }, text };
  }

  #entryOf(path: string, { file, engine, problem }: Unit, line: number): DeploymentEntry {
    const missing = `${escapeForMessage(file)}, which a library in ${METADATA_FILE} names, is not in the package: add it or correct the name`;
    return {
      path,
      method: 'post',
      engine,
      entry: file,
      line,
      raw: {},
      artifacts: [...this.#files.keys()].filter((each) => isForCode(each, file)),
      problems: [...(problem === undefined ? [] : [problem]), ...(this.#files.has(file) ? [] : [missing])],
    };
  }
}

/** Where the package has a `service.yaml` of its own, which describes something else. */
const OTHER_FILE = 'library-service.yaml';

/** Requirements of tests and examples are not those of the library. */
function isForCode(path: string, file: string): boolean {
  const slash = path.lastIndexOf('/');
  return path.slice(slash + 1) !== 'requirements.txt' || file.startsWith(path.slice(0, slash + 1));
}

const noteOf = (owner: Unit, others: readonly Unit[]): string =>
  `It is the function of ${nameOf(owner)}; ${others.map(nameOf).join(', ')} ${others.length === 1 ? 'exports' : 'export'} one of that name too, which is not served`;

const nameOf = ({ name, file }: Unit): string => `${name} (${escapeForMessage(file)})`;

/** Asks what stands for a file for the functions that it exports. @throws ActivationFailure */
export async function listExports(executor: Executor, file: string): Promise<readonly string[]> {
  const listed = await executor
    .execute({ ...NOTHING, deadline: uptime() + LIMIT_MS })
    .catch((thrown: unknown) =>
      Promise.reject(new ActivationFailure(messageOf(thrown).replace(/^Code execution error: /, ''))),
    );
  const names: unknown = JSON.parse(listed);
  const functions = Array.isArray(names)
    ? names.filter((name): name is string => typeof name === 'string' && (name === DEFAULT || isFunctionName(name)))
    : [];
  if (functions.length === 0)
    throw new ActivationFailure(
      `${escapeForMessage(file)} exports no function that can be an endpoint: its name must be made of letters, digits and . _ -, and begin with none of . and _`,
    );
  if (functions.length > MOST_FUNCTIONS)
    throw new ActivationFailure(
      `${escapeForMessage(file)} exports more than ${MOST_FUNCTIONS} functions: divide them among knowledge objects`,
    );
  return functions;
}

/** The engine has its own limit, which is shorter. */
const LIMIT_MS = 600_000;

/** A call with no input, from which nothing else can be called. */
const NOTHING = {
  body: 'null',
  contentType: 'application/json',
  json: true,
  depth: 0,
  scope: {
    find: () => undefined,
    call: () => Promise.reject(new Error('nothing is active while a library is loaded')),
  },
};

/** The service descriptor of a library, which its author did not write: any JSON goes in and out. */
interface LibraryOperation {
  /** With a leading slash. */
  readonly path: string;
  /** Of its service, as the metadata say it. */
  readonly description: string | undefined;
  /** It stands for a file whose functions are not known. */
  readonly isFile?: boolean;
}

interface DescribedLibrary {
  readonly id: KoId;
  readonly apiVersion: string;
  readonly details: Pick<KoMetadata, 'title' | 'description'>;
  readonly operations: readonly LibraryOperation[];
}

/** OpenAPI, as JSON, which is YAML too. */
function libraryDescriptor({ id, apiVersion, details, operations }: DescribedLibrary): string {
  const { title = id.name, description } = details;
  const json = (schema: unknown): unknown => ({ 'application/json': { schema } });
  const paths = operations.map((each) => {
    const name = each.path.slice(1);
    const post = {
      operationId: name,
      summary: each.isFile === true ? `The library ${name}, whose functions are not known` : `The function ${name}`,
      ...(each.description === undefined ? {} : { description: each.description }),
      requestBody: { required: true, content: json({ description: 'The argument of the function: any JSON' }) },
      responses: {
        200: {
          description: 'What the function returns',
          content: json({
            type: 'object',
            required: ['result', 'info'],
            properties: { result: { description: 'Any JSON' }, info: { type: 'object' } },
          }),
        },
      },
    };
    return [each.path, { post }] as const;
  });
  return `${JSON.stringify(
    {
      openapi: '3.0.3',
      info: { title, ...(description === undefined ? {} : { description }), version: apiVersion },
      servers: [{ url: `/${id.naan}/${id.name}/${apiVersion}` }],
      paths: Object.fromEntries(paths),
    },
    undefined,
    2,
  )}\n`;
}
