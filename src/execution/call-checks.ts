/** Holds what endpoints are given, and what they give, to the schemas of their knowledge objects. */
import type { Endpoint } from '../activation/endpoint.ts';
import type { CallSignal } from '../engines/engine.ts';
import { strictest, type ValidationMode } from '../knowledge-object/descriptors/deployment.ts';
import { executionFailed, invalidInput, type ServiceError } from '../lib/errors.ts';
import { mediaTypeOf } from '../lib/media-type.ts';
import { uptime } from '../lib/time.ts';
import { type CallLog, factsOf } from './failed-calls.ts';
import type { ValuePath } from './validation/says-number.ts';
import type { Checked, KnownSchema, SchemaChecks } from './validation/schema-checks.ts';
import type { CheckOutcome, SchemaQuestion } from './validation/schema-thread.ts';
import type { Violations } from './validation/violations.ts';

export interface CallChecksOptions {
  readonly schemas: SchemaChecks;
  /** What the operator says; undefined: nothing, so that knowledge objects decide for themselves. */
  readonly inputs: ValidationMode | undefined;
  readonly outputs: 'off' | 'log';
  readonly log: CallLog;
  /** Hears of each input and result that breaks its schema, or could not be checked. */
  readonly observe?: ((endpoint: Endpoint, part: Part, what: SchemaBreak) => void) | undefined;
}

/** What became of an input or a result: it was refused, told in the log, or not checked. */
export type SchemaBreak = 'refused' | 'logged' | 'unchecked';

export interface CheckedCall {
  readonly contentType: string;
  readonly caller: string | undefined;
  readonly signal: CallSignal | undefined;
}

/** Checks on their way whose answers only the log waits for. */
const MOST_FOR_LOG = 500;

export class CallChecks implements Disposable {
  readonly #options: CallChecksOptions;
  readonly #breaks: SchemaBreaks;
  readonly #known = new WeakMap<Endpoint, EndpointChecks>();
  readonly #concernsAll: boolean;

  constructor(options: CallChecksOptions) {
    const { inputs, outputs, log } = options;
    this.#options = options;
    this.#breaks = new SchemaBreaks(log);
    this.#concernsAll = (inputs ?? 'off') !== 'off' || outputs !== 'off';
  }

  /** Undefined where nothing of it is checked. `isHeld`: its inputs are refused where they break their schema. */
  of(endpoint: Endpoint, isHeld: true | undefined = undefined): EndpointChecks | undefined {
    if (isHeld) return this.#checksOf(endpoint);
    if (!this.#concernsAll && endpoint.entry.validate === undefined) return undefined;
    const checks = this.#checksOf(endpoint);
    return checks.isNeeded ? checks : undefined;
  }

  /** Whether the schema of an endpoint says `type: number` at places of an input. @throws overloaded. */
  sayNumber(endpoint: Endpoint, paths: readonly ValuePath[], call: CheckedCall): Promise<readonly boolean[]> {
    return this.#checksOf(endpoint).sayNumber(paths, call);
  }

  #checksOf(endpoint: Endpoint): EndpointChecks {
    let checks = this.#known.get(endpoint);
    if (checks === undefined) {
      checks = new EndpointChecks(endpoint, this.#options, this.#breaks);
      this.#known.set(endpoint, checks);
    }
    return checks;
  }

  [Symbol.dispose](): void {
    this.#breaks[Symbol.dispose]();
  }
}

export class EndpointChecks {
  readonly #endpoint: Endpoint;
  readonly #options: CallChecksOptions;
  readonly #breaks: SchemaBreaks;
  readonly #mode: ValidationMode;
  readonly #requests = new Map<string, KnownSchema>();
  #result: KnownSchema | undefined;

  constructor(endpoint: Endpoint, options: CallChecksOptions, breaks: SchemaBreaks) {
    this.#endpoint = endpoint;
    this.#options = options;
    this.#breaks = breaks;
    this.#mode = endpoint.entry.method === 'post' ? strictest(options.inputs, endpoint.entry.validate) : 'off';
  }

  get isNeeded(): boolean {
    return this.#endpoint.entry.method === 'post' && (this.#mode !== 'off' || this.#options.outputs !== 'off');
  }

  /**
   * Why each of these JSON texts is refused, in their order; undefined for what may go on. Undefined at once where
   * nothing is refused. @throws overloaded; executionFailed where inputs cannot be checked.
   */
  inputs(
    texts: readonly string[],
    call: CheckedCall,
    isHeld: true | undefined = undefined,
  ): Promise<readonly (ServiceError | undefined)[]> | undefined {
    if (this.#mode === 'off' && !isHeld) return undefined;
    const schema = this.#ofRequest(call.contentType);
    if (this.#mode === 'enforce' || isHeld) return this.#refusals(schema, texts, call);
    this.#log(schema, 'input', texts, call);
    return undefined;
  }

  /** Whether the schema says `type: number` at places of an input. @throws overloaded. */
  async sayNumber(paths: readonly ValuePath[], call: CheckedCall): Promise<readonly boolean[]> {
    const texts = paths.map((path) => JSON.stringify(path));
    const checked = await this.#check(this.#ofRequest(call.contentType), texts, call, 'places');
    return paths.map((_, i) => checked.kind === 'checked' && checked.outcomes[i] === null);
  }

  get concernsResults(): boolean {
    return this.#options.outputs !== 'off';
  }

  results(texts: readonly string[], call: CheckedCall): void {
    this.#result ??= this.#schema({ of: 'result' });
    this.#log(this.#result, 'result', texts, call);
  }

  async #refusals(
    schema: KnownSchema,
    texts: readonly string[],
    call: CheckedCall,
  ): Promise<readonly (ServiceError | undefined)[]> {
    const { id } = this.#endpoint;
    const checked = await this.#check(schema, texts, call);
    if (checked.kind === 'none') return texts.map(() => undefined);
    if (checked.kind === 'failed')
      throw executionFailed(
        `inputs of ${id} cannot be checked, which its deployment or the operator asks for: ${checked.reason}`,
      );
    return checked.outcomes.map((outcome) => {
      if (outcome === null) return undefined;
      this.#observe('input', 'refused');
      return this.#refusal(outcome);
    });
  }

  #refusal(outcome: Exclude<CheckOutcome, null>): ServiceError {
    const { id } = this.#endpoint;
    if (typeof outcome === 'string')
      return invalidInput(`The input cannot be checked by the schema of ${id}: ${outcome}`);
    const { told, more } = outcome;
    const words = told.map(
      ({ path, expected, came }) => `${path === '' ? 'the input' : path}: expected ${expected}, came ${came}`,
    );
    if (more > 0) words.push(`and ${more} more`);
    const inputs = told.map(({ path, expected }) => ({ pointer: path, expected }));
    return invalidInput(`The input breaks the schema of ${id}: ${words.join('; ')}`, 400, inputs);
  }

  #log(schema: KnownSchema, part: Part, texts: readonly string[], call: CheckedCall): void {
    if (schema.state.kind === 'none' || schema.state.kind === 'failed') return;
    if (this.#options.schemas.waiting >= MOST_FOR_LOG) return this.#noteUndecided(part, 'too many wait');
    // Also once its client has its answer and has gone.
    this.#check(schema, texts, { ...call, signal: undefined }).then(
      (checked) => {
        if (checked.kind !== 'checked') return;
        for (const outcome of checked.outcomes) {
          if (typeof outcome === 'string') this.#noteUndecided(part, outcome);
          else if (outcome !== null) {
            this.#observe(part, 'logged');
            this.#breaks.note(this.#endpoint, part, outcome);
          }
        }
      },
      () => this.#noteUndecided(part, 'it could not be done'),
    );
  }

  #noteUndecided(part: Part, why: string): void {
    this.#observe(part, 'unchecked');
    this.#breaks.noteUndecided(this.#endpoint, part, why);
  }

  #observe(part: Part, what: SchemaBreak): void {
    this.#options.observe?.(this.#endpoint, part, what);
  }

  #check(
    schema: KnownSchema,
    texts: readonly string[],
    { caller = '', signal }: CheckedCall,
    of?: 'places',
  ): Promise<Checked> {
    const isWanted = signal === undefined ? undefined : (): boolean => !signal.aborted;
    return this.#options.schemas.check(schema, texts, `${caller} ${this.#endpoint.id}`, isWanted, of);
  }

  #ofRequest(contentType: string): KnownSchema {
    const type = mediaTypeOf(contentType);
    // What a wildcard lets in has many names.
    const mediaType = this.#endpoint.accepts.some((each) => mediaTypeOf(each) === type) ? type : 'application/json';
    let schema = this.#requests.get(mediaType);
    if (schema === undefined) this.#requests.set(mediaType, (schema = this.#schema({ of: 'request', mediaType })));
    return schema;
  }

  #schema(part: SchemaQuestion['part']): KnownSchema {
    const { schemas, log } = this.#options;
    const endpoint = this.#endpoint;
    const { ko, from, entry } = endpoint;
    const facts = { event: 'schema-not-checked', ...factsOf(endpoint), file: from.service.file };
    return schemas.schema({
      question: { file: from.service.file, path: entry.path, method: entry.method, part },
      size: (path) => ko.sizeOf(path),
      read: (path) => ko.artifact(path),
      onNotes: (notes, failure) => {
        if (failure !== undefined)
          log.warn({ ...facts, reason: failure }, `the ${part.of} schema of an endpoint cannot be used for checks`);
        else log.warn({ ...facts, notes }, `parts of the ${part.of} schema of an endpoint are not checked`);
      },
    });
  }
}

/**
 * Inputs and results that break the schema of their endpoint, in the log: places and what the schema expects there, never
 * what came. "At most one line a minute for each endpoint and path, the rest counted."
 */
type Part = 'input' | 'result';

const PERIOD_MS = 60_000;
const LOOK_MS = 5000;
/** Places of one endpoint that are told apart. */
const MOST_PLACES = 100;
const ELSEWHERE = '(other places)';

interface Told {
  readonly endpoint: Endpoint;
  readonly part: Part;
  readonly path: string;
  readonly expected: string;
  since: number;
  more: number;
}

export class SchemaBreaks implements Disposable {
  readonly #log: CallLog;
  readonly #now: () => number;
  readonly #endpoints = new Map<string, Map<string, Told>>();
  #timer: NodeJS.Timeout | undefined;

  constructor(log: CallLog, now: () => number = uptime) {
    this.#log = log;
    this.#now = now;
  }

  note(endpoint: Endpoint, part: Part, { told }: Violations): void {
    for (const { schemaPath, expected } of told) this.#noteOne(endpoint, part, schemaPath, expected);
  }

  /** One that could not be checked. */
  noteUndecided(endpoint: Endpoint, part: Part, reason: string): void {
    this.#noteOne(endpoint, part, '', `to be checked: ${reason}`);
  }

  /** Tells what was counted; `isLast`: of all, whenever they were told of. */
  look(isLast = false): void {
    const now = this.#now();
    for (const [id, places] of this.#endpoints) {
      for (const [key, told] of places) {
        if (!isLast && now - told.since < PERIOD_MS) continue;
        if (told.more === 0) places.delete(key);
        else {
          this.#tell(told);
          told.since = now;
          told.more = 0;
        }
      }
      if (places.size === 0) this.#endpoints.delete(id);
    }
    if (this.#endpoints.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  [Symbol.dispose](): void {
    this.look(true);
    this.#endpoints.clear();
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #noteOne(endpoint: Endpoint, part: Part, path: string, expected: string): void {
    let places = this.#endpoints.get(endpoint.id);
    if (places === undefined) this.#endpoints.set(endpoint.id, (places = new Map<string, Told>()));
    const own = `${part} ${path}`;
    const isKnown = places.has(own);
    const key = isKnown || places.size < MOST_PLACES ? own : `${part} ${ELSEWHERE}`;
    const found = places.get(key);
    if (found !== undefined) return void found.more++;
    const at = key === own ? { path, expected } : { path: ELSEWHERE, expected: '' };
    const told: Told = { endpoint, part, ...at, since: this.#now(), more: 0 };
    places.set(key, told);
    this.#timer ??= setInterval(() => this.look(), LOOK_MS).unref();
    this.#tell(told);
  }

  #tell({ endpoint, part, path, expected, more }: Told): void {
    this.#log.warn(
      {
        event: `${part}-breaks-schema`,
        ...factsOf(endpoint),
        path: path === '' ? '/' : path,
        expected,
        ...(more === 0 ? {} : { more }),
      },
      more === 0
        ? `the ${part} of a call breaks the schema of its endpoint`
        : `the ${part}s of ${more} more calls break the schema of their endpoint`,
    );
  }
}
