/**
 * An engine whose artifacts are data: rules, decision tables, expressions. The logic in them is vouched for by nobody,
 * so it runs where code does: a small program of the engine, in JavaScript, reads the artifacts in a sandbox of the
 * engine `javascript`, which brings the limits, the depth of calls, and calls by others.
 */
import { placeOfSyntaxError, reasonOfSyntaxError } from '../knowledge-object/metadata-text.ts';
import { messageOf } from '../lib/errors.ts';
import type { Engines } from './engine-registry.ts';
import {
  type ActivationContext,
  ActivationFailure,
  type EndpointPlan,
  type Engine,
  type EngineHealth,
  type Executor,
} from './engine.ts';

export interface ProgramEngineOptions {
  readonly name: string;
  /** With the engine `javascript`. */
  readonly engines: Pick<Engines, 'get'>;
  /**
   * The program, as scripts by name that `require` each other: `{ 'main.js': …, 'library.js': … }`. `main.js` exports
   *
   *     module.exports = (artifacts, { entry, function }) => (input) => result;
   *
   * It is called once, with the texts of all artifacts by path, before the endpoint is active: an error thrown there
   * refuses it, so its message should name the artifact and the line. What it gives is called with each input.
   */
  readonly program: Readonly<Record<string, string>>;
}

const NONE: EndpointPlan['files'] = new Map();

/** Where the program lies beside the artifacts. */
const FOLDER = '.engine';
const RUN = `${FOLDER}/run.js`;

export class ProgramEngine implements Engine {
  readonly name: string;
  readonly method = 'post';
  readonly builtIn = true;
  readonly #engines: Pick<Engines, 'get'>;
  readonly #program: ReadonlyMap<string, string>;

  constructor({ name, engines, program }: ProgramEngineOptions) {
    this.name = name;
    this.#engines = engines;
    this.#program = new Map(Object.entries(program).map(([path, text]) => [`${FOLDER}/${path}`, text]));
  }

  async activate(plan: EndpointPlan, context: ActivationContext): Promise<Executor> {
    const artifacts: [string, string][] = [];
    for (const path of plan.artifacts) artifacts.push([path, (await plan.read(path)).toString('utf8')]);
    const details = { entry: plan.entry, function: plan.function ?? '' };
    const files = new Map([...this.#program, [RUN, runWith(artifacts, details)]]);
    const sandboxed: EndpointPlan = {
      ...plan,
      artifacts: [...files.keys()],
      entry: RUN,
      function: undefined,
      files: NONE,
      read: (path) => Promise.resolve(Buffer.from(files.get(path) ?? '')),
    };
    try {
      return await this.#sandbox.activate(sandboxed, context);
    } catch (thrown) {
      if (thrown instanceof ActivationFailure) throw new ActivationFailure(refusal(thrown.message, plan, artifacts));
      throw thrown;
    }
  }

  /** That of the sandboxes. */
  health(): EngineHealth {
    const { status, details } = this.#sandbox.health();
    return { status, details: { ...details, engines: [this.name] } };
  }

  info(): Record<string, unknown> {
    return {};
  }

  /** Its endpoints end with the sandboxes. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.resolve();
  }

  get #sandbox(): Engine {
    const sandbox = this.#engines.get('javascript');
    if (sandbox === undefined) throw new Error(`the engine ${this.name} needs the engine javascript`);
    return sandbox;
  }
}

/** Passes the files as JSON in a string: in an object literal `__proto__` would be no file. */
const runWith = (artifacts: readonly [string, string][], details: object): string =>
  `module.exports = require('./main.js')(Object.fromEntries(${parsed(artifacts)}), ${parsed(details)});`;
const parsed = (value: unknown): string => `JSON.parse(${JSON.stringify(JSON.stringify(value))})`;

/** The cause with its place in the artifacts: places in the program tell the author of a KO nothing. */
function refusal(detail: string, { entry }: EndpointPlan, artifacts: readonly [string, string][]): string {
  const words = detail.replace(/ \(\.engine\/[^()]*\)$/, '').replace(`the top level of ${RUN}`, 'what prepares it');
  if (words.startsWith('SyntaxError: ')) {
    for (const [path, text] of artifacts) {
      const problem = /\.json$/i.test(path) ? jsonProblem(path, text) : undefined;
      if (problem !== undefined) return problem;
    }
  }
  const cause = words.replace(/^Error: /, '').replace('; move long work into the function', '');
  return artifacts.some(([path]) => cause.includes(path)) ? cause : `${cause} (${entry})`;
}

function jsonProblem(path: string, text: string): string | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (thrown) {
    const words = messageOf(thrown);
    const place = placeOfSyntaxError(text, words);
    const where = place === undefined ? path : `${path} line ${place.line}, column ${place.column}`;
    return `not valid JSON: ${reasonOfSyntaxError(words)} (${where})`;
  }
}
