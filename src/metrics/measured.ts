/** What is counted as it happens; the rest is read when it is asked for. */
import type { EndpointSet } from '../activation/endpoint-set.ts';
import type { Endpoint } from '../activation/endpoint.ts';
import type { KoId } from '../knowledge-object/id.ts';
import { Tally } from '../lib/tally.ts';
import { FAMILIES } from './families.ts';
import { ACTIVATION_BOUNDS, Histogram, labelsOf } from './text.ts';

// What is measured of calls: by endpoint, for as many endpoints as the operator allows, and together for the others.

/** Of the endpoints that have no series of their own. */
const OTHER = 'other';

/** The series of one endpoint, also when it is activated anew. */
export class EndpointSeries {
  /** Undefined for the others. */
  readonly ko: KoId | undefined;
  /** Path of the endpoint. */
  readonly name: string;
  readonly engine: string;
  /** Of the labels that all its series have. */
  readonly values: readonly string[];
  readonly #done = new Histogram();
  readonly #otherwise = new Map<string, Histogram>();

  constructor(ko: KoId | undefined, name: string, engine: string) {
    this.ko = ko;
    this.name = name;
    this.engine = engine;
    this.values = [ko === undefined ? OTHER : `${ko.naan}/${ko.name}`, ko?.version ?? OTHER, name, engine];
  }

  /** Inputs and results that broke their schema, by part and what became of them. */
  readonly breaks = new Tally();

  of(outcome: string): Histogram {
    if (outcome === 'done') return this.#done;
    let histogram = this.#otherwise.get(outcome);
    if (histogram === undefined) this.#otherwise.set(outcome, (histogram = new Histogram()));
    return histogram;
  }

  /** Those that there were. */
  *outcomes(): Generator<readonly [outcome: string, histogram: Histogram], void, undefined> {
    if (this.#done.count > 0) yield ['done', this.#done];
    yield* this.#otherwise;
  }

  labelsWith(outcome: string): string {
    return labelsOf(FAMILIES.executions.labels, [...this.values, outcome]);
  }

  /** With the text of their labels. */
  *histograms(): Generator<[labels: string, histogram: Histogram], void, undefined> {
    for (const [outcome, histogram] of this.outcomes()) yield [this.labelsWith(outcome), histogram];
  }
}

export class Executions {
  readonly #most: number;
  /** By the labels of the endpoint. */
  readonly #own = new Map<string, EndpointSeries>();
  /** By engine. */
  readonly #others = new Map<string, EndpointSeries>();
  #known = new WeakMap<Endpoint, EndpointSeries>();
  /** Hears of series before they go. */
  onGone: (series: EndpointSeries) => void = () => undefined;

  /** `most`: endpoints with series of their own. */
  constructor(most: number) {
    this.#most = most;
  }

  /** `calls`: that so many took this long each. */
  observe(endpoint: Endpoint, outcome: string, seconds: number, calls: number): void {
    (this.#known.get(endpoint) ?? this.#seriesOf(endpoint)).of(outcome).observe(seconds, calls);
  }

  /** An input or a result broke its schema. */
  broke(endpoint: Endpoint, part: string, what: string): void {
    (this.#known.get(endpoint) ?? this.#seriesOf(endpoint)).breaks.add(`${part} ${what}`);
  }

  /** Lets go of the series of what is not active any more, which makes room for others. */
  keepOnly(set: EndpointSet): void {
    let areGone = false;
    for (const [key, series] of this.#own) {
      const { ko, name, engine } = series;
      if (ko === undefined || isIn(set, ko, name, engine)) continue;
      this.onGone(series);
      this.#own.delete(key);
      areGone = true;
    }
    for (const [engine, series] of this.#others) {
      if (set.ofEngine(engine).length > 0) continue;
      this.onGone(series);
      this.#others.delete(engine);
      areGone = true;
    }
    if (areGone) this.#known = new WeakMap();
  }

  /** Those that were called. */
  *series(): Generator<EndpointSeries, void, undefined> {
    yield* this.#own.values();
    yield* this.#others.values();
  }

  #seriesOf(endpoint: Endpoint): EndpointSeries {
    const { engine } = endpoint.entry;
    const { id } = endpoint.ko;
    const own = new EndpointSeries(id, endpoint.name, engine);
    // Two may not be the same to Prometheus.
    const key = own.labelsWith('');
    let series = this.#own.get(key);
    if (series === undefined && this.#own.size < this.#most) this.#own.set(key, (series = own));
    series ??= this.#others.get(engine);
    if (series === undefined) this.#others.set(engine, (series = new EndpointSeries(undefined, OTHER, engine)));
    this.#known.set(endpoint, series);
    return series;
  }
}

const isIn = (set: EndpointSet, ko: KoId, name: string, engine: string): boolean =>
  set
    .ofName(ko)
    .some((each) => each.name === name && each.entry.engine === engine && each.ko.id.version === ko.version);

// What is measured of requests: by the pattern of their route, never by what they ask for.

/** Where no route matched. */
const UNMATCHED = 'unmatched';

/** Those of one route and method. */
export class RequestSeries {
  readonly #labels: readonly string[];
  readonly #statuses = new Map<number, Histogram>();

  constructor(...labels: readonly string[]) {
    this.#labels = labels;
  }

  observe(status: number, seconds: number): void {
    let histogram = this.#statuses.get(status);
    if (histogram === undefined) this.#statuses.set(status, (histogram = new Histogram()));
    histogram.observe(seconds);
  }

  /** With the text of their labels. */
  *histograms(): Generator<[labels: string, histogram: Histogram], void, undefined> {
    for (const [status, histogram] of this.#statuses)
      yield [labelsOf(FAMILIES.requests.labels, [...this.#labels, String(status)]), histogram];
  }
}

export class Requests {
  readonly #methods: ReadonlySet<string>;
  /** By route and method. */
  readonly #series = new Map<string, Map<string, RequestSeries>>();

  /** `methods`: those that have series of their own. */
  constructor(methods: Iterable<string>) {
    this.#methods = new Set(methods);
  }

  /** `route`: the pattern that was declared; undefined where none matched. */
  of(route: string = UNMATCHED, method = OTHER): RequestSeries {
    const name = this.#methods.has(method) ? method : OTHER;
    let methods = this.#series.get(route);
    if (methods === undefined) this.#series.set(route, (methods = new Map<string, RequestSeries>()));
    let series = methods.get(name);
    if (series === undefined) methods.set(name, (series = new RequestSeries(route, name)));
    return series;
  }

  /** With the text of their labels. */
  *histograms(): Generator<[labels: string, histogram: Histogram], void, undefined> {
    for (const methods of this.#series.values()) for (const series of methods.values()) yield* series.histograms();
  }
}

export interface MeasuredOptions {
  /** Endpoints with series of their own. */
  readonly endpoints: number;
  /** Methods of requests that have series of their own. */
  readonly methods: Iterable<string>;
}

/** Why a request was refused for its login: there was none, it was wrong, may not do this, or could not be checked. */
const LOGIN_REFUSALS = ['missing', 'wrong', 'scope', 'unchecked'];

export class Measured {
  readonly executions: Executions;
  readonly requests: Requests;
  readonly imports = new Tally<string>(['done']);
  readonly loginsRefused = new Tally(LOGIN_REFUSALS);
  /** Answers of CDS services, by a JSON array of service, client and outcome. */
  readonly hookAnswers = new Tally<string>();
  /** Of endpoints, so far. */
  activationCount = 0;
  /** Packages that were read to find damage. */
  scrubbed = 0;
  /** By engine and result. */
  readonly activations = new Map<string, Histogram>();

  constructor({ endpoints, methods }: MeasuredOptions) {
    this.executions = new Executions(endpoints);
    this.requests = new Requests(methods);
  }

  /** An endpoint was activated, or could not be. */
  activated({ entry, status }: Pick<Endpoint, 'entry' | 'status'>, milliseconds: number): void {
    this.activationCount++;
    const key = `${entry.engine} ${status === 'ACTIVATED' ? 'activated' : 'failed'}`;
    let histogram = this.activations.get(key);
    if (histogram === undefined) this.activations.set(key, (histogram = new Histogram(ACTIVATION_BOUNDS)));
    histogram.observe(milliseconds / 1000);
  }
}
