/** The two forms in which Prometheus takes series; they differ in what stands before and after the samples. */
import { FAMILIES, type Family, type FamilyKey } from './families.ts';

/** Upper bounds in seconds: from what a small function takes to the limit of a runtime. */
export const CALL_BOUNDS: readonly number[] = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
];
/** The same of activations: from code that is here to packages that are installed for it. */
export const ACTIVATION_BOUNDS: readonly number[] = [0.005, 0.025, 0.1, 0.5, 2.5, 10, 30, 120, 600];

/** How often durations lay between bounds. */
export class Histogram {
  readonly bounds: readonly number[];
  /** One for each bound, and for what is beyond them. */
  readonly counts: number[];
  /** Seconds. */
  sum = 0;
  count = 0;

  constructor(bounds: readonly number[] = CALL_BOUNDS) {
    this.bounds = bounds;
    this.counts = Array<number>(bounds.length + 1).fill(0);
  }

  /** `times`: of so many that took as long. */
  observe(seconds: number, times = 1): void {
    const { bounds, counts } = this;
    let at = 0;
    while (at < bounds.length && seconds > (bounds[at] ?? 0)) at++;
    counts[at] = (counts[at] ?? 0) + times;
    this.sum += seconds * times;
    this.count += times;
  }
}

export type Format = 'text' | 'openmetrics';

/** https://prometheus.io/docs/instrumenting/exposition_formats/ and https://prometheus.io/docs/specs/om/open_metrics_spec/ */
export const MEDIA_TYPES: Readonly<Record<Format, string>> = {
  text: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
};

/** Characters of a label value: what an author wrote may be of any length. */
const MAX_LABEL_CHARACTERS = 200;

/** `{a="1",b="2"}`; texts that are equal then mean one series. */
export function labelsOf(names: readonly string[], values: readonly string[]): string {
  return names.length === 0 ? '' : `{${names.map((name, i) => `${name}="${escaped(values[i] ?? '')}"`).join(',')}}`;
}

const escaped = (value: string): string =>
  value
    .slice(0, MAX_LABEL_CHARACTERS)
    .toWellFormed()
    .replace(/[\\"\n]/g, (found) => (found === '\n' ? '\\n' : `\\${found}`));

/** As OpenMetrics wants them, in both forms: else a bound would be two series. */
const bucketEnds = (bounds: readonly number[]): readonly string[] =>
  [...bounds.map((bound) => (Number.isInteger(bound) ? `${bound}.0` : String(bound))), '+Inf'].map(
    (bound) => `le="${bound}"} `,
  );
const BUCKET_ENDS = new Map([CALL_BOUNDS, ACTIVATION_BOUNDS].map((bounds) => [bounds, bucketEnds(bounds)] as const));

/** The samples of one family, in the order in which they come. */
export class Samples {
  readonly family: Family;
  #text = '';

  constructor(key: FamilyKey) {
    this.family = FAMILIES[key];
  }

  /** `values`: of the labels, in the order of the family. */
  add(value: number, ...values: readonly string[]): void {
    this.addLabelled(labelsOf(this.family.labels, values), value);
  }

  addLabelled(labels: string, value: number): void {
    this.#text += `${this.family.name}${labels} ${numberText(value)}\n`;
  }

  addHistogram(labels: string, { bounds, counts, sum, count }: Histogram): void {
    const { name } = this.family;
    const ends = BUCKET_ENDS.get(bounds) ?? bucketEnds(bounds);
    const start = `${name}_bucket${labels === '' ? '{' : `${labels.slice(0, -1)},`}`;
    let text = '';
    let below = 0;
    for (let i = 0; i < ends.length; i++) {
      below += counts[i] ?? 0;
      text += start + (ends[i] ?? '') + String(below) + '\n';
    }
    this.#text += `${text}${name}_sum${labels} ${numberText(sum)}\n${name}_count${labels} ${count}\n`;
  }

  /** What was added since it was last taken. */
  take(): Buffer {
    const bytes = Buffer.from(this.#text);
    this.#text = '';
    return bytes;
  }
}

const numberText = (value: number): string =>
  Number.isFinite(value) ? String(value) : Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf';

/** What stands before the samples of a family. */
export function headOf({ name, type, help }: Family, format: Format): string {
  const own = format === 'openmetrics' && type === 'counter' ? name.replace(/_total$/, '') : name;
  return `# HELP ${own} ${help}\n# TYPE ${own} ${type}\n`;
}

export const END: Readonly<Record<Format, string>> = { text: '', openmetrics: '# EOF\n' };
