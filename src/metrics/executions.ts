/** What is measured of calls: by endpoint, for as many endpoints as the operator allows, and together for the others. */
import type { Endpoint } from '../activation/endpoint.ts';
import type { EndpointSet } from '../activation/endpoint-set.ts';
import type { KoId } from '../knowledge-object/id.ts';
import { Tally } from '../lib/tally.ts';
import { FAMILIES } from './families.ts';
import { Histogram } from './histogram.ts';
import { labelsOf } from './text.ts';

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
