/** What is measured of requests: by the pattern of their route, never by what they ask for. */
import { Histogram } from './histogram.ts';
import { FAMILIES } from './families.ts';
import { labelsOf } from './text.ts';

/** Where no route matched. */
const UNMATCHED = 'unmatched';
const OTHER = 'other';

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
