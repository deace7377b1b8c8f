/** The two forms in which Prometheus takes series; they differ in what stands before and after the samples. */
import { ACTIVATION_BOUNDS, CALL_BOUNDS } from './histogram.ts';
import type { Histogram } from './histogram.ts';
import { FAMILIES } from './families.ts';
import type { Family, FamilyKey } from './families.ts';

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
