/**
 * The calls of the last hour, in steps, from what is counted already: nothing is done for a call. A step ends with a look at
 * the series that changed.
 */
import { koKey } from '../knowledge-object/id.ts';
import { EXECUTION_ERRORS } from '../lib/errors.ts';
import { uptime } from '../lib/time.ts';
import type { EndpointSeries, Executions } from './measured.ts';
import { CALL_BOUNDS } from './text.ts';

// What is told of calls: how many there were, how many failed, and how long those that ran took.

/** Calls, those that failed, and how many of those that ran took as long as each bucket says. */
type Figures = Float64Array;

const CALLS = 0;
const FAILED = 1;
/** Where the buckets begin, and how many there are. */
const BUCKETS_AT = 2;
const BUCKETS = CALL_BOUNDS.length + 1;

const newFigures = (): Figures => new Float64Array(BUCKETS_AT + BUCKETS);
const callsOf = (figures: Figures): number => figures[CALLS] ?? 0;
const failedOf = (figures: Figures): number => figures[FAILED] ?? 0;

/** As the alerts have it: what the caller did wrong is no failure of the service or of a knowledge object. */
const FAILURES: ReadonlySet<string> = new Set([
  ...EXECUTION_ERRORS.keys(),
  'runtime-unreachable',
  'runtime-silent',
  'overloaded',
  'internal',
]);
/** Of calls that did not run nobody asks how long they took. */
const RAN: ReadonlySet<string> = new Set(['done', ...EXECUTION_ERRORS.keys(), 'runtime-silent', 'internal']);

/** All that was counted of a series, into `into`. */
function readSeries(series: EndpointSeries, into: Figures): Figures {
  into.fill(0);
  for (const [outcome, { count, counts }] of series.outcomes()) {
    into[CALLS] = callsOf(into) + count;
    if (FAILURES.has(outcome)) into[FAILED] = failedOf(into) + count;
    if (!RAN.has(outcome)) continue;
    for (let i = 0; i < BUCKETS; i++) into[BUCKETS_AT + i] = (into[BUCKETS_AT + i] ?? 0) + (counts[i] ?? 0);
  }
  return into;
}

function add(to: Figures, figures: Figures, times = 1): Figures {
  for (let i = 0; i < to.length; i++) to[i] = (to[i] ?? 0) + times * (figures[i] ?? 0);
  return to;
}

/** Milliseconds within which that part of the calls came back, interpolated as Prometheus does; null where none ran. */
function quantile(figures: Figures, part: number): number | null {
  let all = 0;
  for (let i = BUCKETS_AT; i < figures.length; i++) all += figures[i] ?? 0;
  if (all === 0) return null;
  const rank = part * all;
  let below = 0;
  for (let i = 0; i < CALL_BOUNDS.length; i++) {
    const count = figures[BUCKETS_AT + i] ?? 0;
    const upper = CALL_BOUNDS[i] ?? 0;
    const lower = CALL_BOUNDS[i - 1] ?? 0;
    if (count > 0 && below + count >= rank) return rounded(1000 * (lower + (upper - lower) * ((rank - below) / count)));
    below += count;
  }
  // Nobody knows how much longer those beyond the last bound took.
  return 1000 * (CALL_BOUNDS.at(-1) ?? 0);
}

const rounded = (value: number): number => Math.round(value * 1000) / 1000;

const STEP_SECONDS = 30;
const STEP_MS = 1000 * STEP_SECONDS;
/** The one that goes on counts too. */
const MOST_STEPS = 120;
/** Milliseconds for which an answer about all is told to whoever asks. */
const FRESH_MS = 1000;
const OTHER = 'other';

export interface HistoryTotal {
  readonly calls: number;
  readonly failed: number;
  /** Calls, of the last step's time. */
  readonly perSecond: number;
  /** Milliseconds; null where no call ran. */
  readonly p50: number | null;
  readonly p95: number | null;
  readonly p99: number | null;
}

export interface EndpointHistory extends HistoryTotal {
  /** `<naan>/<name>/<version>`, or `other`. */
  readonly ko: string;
  /** Its path. */
  readonly endpoint: string;
  readonly engine: string;
}

/** Lists are of the steps, the oldest first; the last one goes on. */
export interface CallHistory {
  /** Seconds of a step, … */
  readonly step: number;
  /** … and of the last one until now. */
  readonly lastSeconds: number;
  /** When the first step began. */
  readonly from: string;
  readonly steps: number;
  readonly calls: readonly number[];
  readonly failed: readonly number[];
  readonly p50: readonly (number | null)[];
  readonly p95: readonly (number | null)[];
  readonly p99: readonly (number | null)[];
  readonly total: HistoryTotal;
  /** Most calls first. */
  readonly kos: readonly EndpointHistory[];
}

/** A series and what changed in it since the last step ended. */
interface Changed {
  readonly series: EndpointSeries;
  readonly track: Track | undefined;
  readonly figures: Figures;
}

export interface HistoryOptions {
  readonly executions: Executions;
  /** Lets go of series of what is not active any more. */
  readonly letGo: () => void;
  /** Milliseconds that only grow. */
  readonly now?: () => number;
}

export class History implements Disposable {
  readonly #options: HistoryOptions;
  readonly #now: () => number;
  readonly #began: number;
  readonly #tracks = new Map<EndpointSeries, Track>();
  /** Of all, also of what has gone since. */
  readonly #all = new Track();
  /** What changed since the last step ended in series that have gone. */
  #gone = newFigures();
  #timer: NodeJS.Timeout | undefined;
  /** The step that goes on. */
  #step = 0;
  #known: { readonly until: number; readonly limit: number; readonly history: CallHistory } | undefined;

  constructor(options: HistoryOptions) {
    this.#options = options;
    this.#now = options.now ?? uptime;
    this.#began = this.#now();
    options.executions.onGone = (series) => this.#letGo(series);
    this.#wait();
  }

  /** Bytes that the steps take. */
  get bytes(): number {
    return [...this.#tracks.values(), this.#all].reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** Ends the step that goes on, where its time is over. */
  endStep(): void {
    const step = this.#stepOf(this.#now());
    if (step === this.#step) return;
    const ended = this.#step;
    const all = this.#gone;
    this.#gone = newFigures();
    for (const { series, track = new Track(), figures } of this.#changed()) {
      this.#tracks.set(series, track);
      track.append(ended, figures);
      add(track.counted, figures);
      add(all, figures);
    }
    if (callsOf(all) > 0) this.#all.append(ended, all);
    this.#step = step;
    const first = this.#firstStep;
    for (const track of [...this.#tracks.values(), this.#all]) track.dropBefore(first);
    this.#options.letGo();
  }

  /** Of all, or of the endpoints of one knowledge object; `limit`: of endpoints that are told of. */
  of(ko: string | undefined, limit: number): CallHistory {
    if (ko !== undefined) return this.#read(ko, limit);
    if (this.#known === undefined || this.#known.limit !== limit || this.#known.until <= this.#now())
      this.#known = { until: this.#now() + FRESH_MS, limit, history: this.#read(undefined, limit) };
    return this.#known.history;
  }

  /** Of all calls, of the time of a step until now. */
  get present(): { readonly perSecond: number; readonly failedPerSecond: number; readonly p95: number | null } {
    const running = add(newFigures(), this.#gone);
    for (const { figures } of this.#changed()) add(running, figures);
    const recent = this.#recent(this.#all.lastIf(this.#step - 1), running);
    const seconds = this.#recentSeconds;
    return {
      perSecond: rounded(callsOf(recent) / seconds),
      failedPerSecond: rounded(failedOf(recent) / seconds),
      p95: quantile(recent, 0.95),
    };
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#options.executions.onGone = () => undefined;
  }

  #wait(): void {
    const left = this.#began + (this.#stepOf(this.#now()) + 1) * STEP_MS - this.#now();
    this.#timer = setTimeout(() => {
      this.endStep();
      this.#wait();
    }, left).unref();
  }

  #stepOf(now: number): number {
    return Math.floor((now - this.#began) / STEP_MS);
  }

  get #firstStep(): number {
    return Math.max(0, this.#step - MOST_STEPS + 1);
  }

  /** Milliseconds that the running step has so far. */
  get #soFar(): number {
    return this.#now() - this.#began - this.#step * STEP_MS;
  }

  *#changed(): Generator<Changed, void, undefined> {
    const present = newFigures();
    for (const series of this.#options.executions.series()) {
      const track = this.#tracks.get(series);
      readSeries(series, present);
      if (callsOf(present) === (track === undefined ? 0 : callsOf(track.counted))) continue;
      yield { series, track, figures: this.#since(track, present) };
    }
  }

  #since(track: Track | undefined, present: Figures): Figures {
    const figures = add(newFigures(), present);
    return track === undefined ? figures : add(figures, track.counted, -1);
  }

  #letGo(series: EndpointSeries): void {
    const track = this.#tracks.get(series);
    add(this.#gone, this.#since(track, readSeries(series, newFigures())));
    this.#tracks.delete(series);
  }

  #read(ko: string | undefined, limit: number): CallHistory {
    this.endStep();
    const running = new Map([...this.#changed()].map((each) => [each.series, each.figures]));
    const seriesOf = [...this.#options.executions.series()].filter(
      (each) => ko === undefined || (each.ko !== undefined && koKey(each.ko) === ko),
    );
    const first = this.#firstStep;
    const steps = Array.from({ length: this.#step - first + 1 }, newFigures);
    const into = (step: number, figures: Figures): void => {
      const target = steps[step - first];
      if (target !== undefined) add(target, figures);
    };
    const tracks = ko === undefined ? [this.#all] : seriesOf.map((each) => this.#tracks.get(each));
    for (const track of tracks) for (const [step, figures] of track?.steps() ?? []) into(step, figures);
    for (const each of seriesOf) into(this.#step, running.get(each) ?? NOTHING);
    if (ko === undefined) into(this.#step, this.#gone);
    const sum = newFigures();
    for (const each of steps) add(sum, each);
    const kos = seriesOf.map((series): EndpointHistory => {
      const track = this.#tracks.get(series);
      const now = running.get(series);
      const hour = add(add(newFigures(), track?.sum ?? NOTHING), now ?? NOTHING);
      return {
        ko: series.ko === undefined ? OTHER : koKey(series.ko),
        endpoint: series.name,
        engine: series.engine,
        ...this.#total(hour, this.#recent(track?.lastIf(this.#step - 1), now ?? NOTHING)),
      };
    });
    const began = Date.now() - this.#soFar - (this.#step - first) * STEP_MS;
    return {
      step: STEP_SECONDS,
      lastSeconds: rounded(this.#soFar / 1000),
      from: new Date(1000 * Math.round(began / 1000)).toISOString(),
      steps: steps.length,
      calls: steps.map(callsOf),
      failed: steps.map(failedOf),
      p50: steps.map((each) => quantile(each, 0.5)),
      p95: steps.map((each) => quantile(each, 0.95)),
      p99: steps.map((each) => quantile(each, 0.99)),
      total: this.#total(sum, this.#recent(steps.at(-2), steps.at(-1) ?? NOTHING)),
      kos: kos
        .filter(({ calls }) => calls > 0)
        .sort((a, b) => b.calls - a.calls)
        .slice(0, limit),
    };
  }

  #total(hour: Figures, recent: Figures): HistoryTotal {
    return {
      calls: callsOf(hour),
      failed: failedOf(hour),
      perSecond: rounded(callsOf(recent) / this.#recentSeconds),
      p50: quantile(hour, 0.5),
      p95: quantile(hour, 0.95),
      p99: quantile(hour, 0.99),
    };
  }

  /** Of the time of a step until now: as if the calls of the step before had come evenly. */
  #recent(before: Figures | undefined, running: Figures): Figures {
    const recent = add(newFigures(), running);
    return before === undefined ? recent : add(recent, before, Math.max(0, 1 - this.#soFar / STEP_MS));
  }

  get #recentSeconds(): number {
    return Math.min(STEP_SECONDS, Math.max(1, (this.#now() - this.#began) / 1000));
  }
}

const NOTHING: Figures = newFigures();

// The last hour of one series, in steps. Only steps in which something changed are kept, each with the buckets that did: a
// few words of 4 bytes, at most 20.

/** Of a step: its number, calls, failures, and which buckets follow. */
const HEAD = 4;
const FIRST_WORDS = 32;

class Track {
  /** Of all steps that are kept. */
  readonly sum = newFigures();
  /** What was counted until the last step ended. */
  readonly counted = newFigures();
  #words = new Uint32Array(FIRST_WORDS);
  #start = 0;
  #end = 0;
  /** Where the last step begins. */
  #last = 0;

  /** Bytes that it takes. */
  get bytes(): number {
    return this.#words.byteLength + this.sum.byteLength + this.counted.byteLength;
  }

  /** Steps come in their order. */
  append(step: number, figures: Figures): void {
    this.#makeRoom();
    const words = this.#words;
    let end = this.#end;
    this.#last = end;
    words[end++] = step;
    words[end++] = callsOf(figures);
    words[end++] = failedOf(figures);
    const maskAt = end++;
    let mask = 0;
    for (let i = 0; i < BUCKETS; i++) {
      const count = figures[BUCKETS_AT + i] ?? 0;
      if (count === 0) continue;
      mask |= 1 << i;
      words[end++] = count;
    }
    words[maskAt] = mask;
    this.#end = end;
    add(this.sum, figures);
  }

  /** Lets go of the steps before that one. */
  dropBefore(step: number): void {
    const figures = newFigures();
    while (this.#start < this.#end && (this.#words[this.#start] ?? 0) < step) {
      this.#start = this.#read(this.#start, figures);
      add(this.sum, figures, -1);
    }
  }

  *steps(): Generator<readonly [step: number, figures: Figures], void, undefined> {
    for (let at = this.#start; at < this.#end;) {
      const figures = newFigures();
      const step = this.#words[at] ?? 0;
      at = this.#read(at, figures);
      yield [step, figures];
    }
  }

  /** Of the last step, where it is that one. */
  lastIf(step: number): Figures | undefined {
    if (this.#start === this.#end || this.#words[this.#last] !== step) return undefined;
    const figures = newFigures();
    this.#read(this.#last, figures);
    return figures;
  }

  /** Gives where the next one begins. */
  #read(start: number, into: Figures): number {
    const words = this.#words;
    let at = start + HEAD;
    const mask = words[start + HEAD - 1] ?? 0;
    into[0] = words[start + 1] ?? 0;
    into[1] = words[start + 2] ?? 0;
    for (let i = 0; i < BUCKETS; i++) into[BUCKETS_AT + i] = (mask & (1 << i)) === 0 ? 0 : (words[at++] ?? 0);
    return at;
  }

  #makeRoom(): void {
    if (this.#end + HEAD + BUCKETS <= this.#words.length) return;
    const used = this.#end - this.#start;
    const old = this.#words;
    // What was let go at the front is used again, where it is much.
    if (this.#start < old.length / 4 || used + HEAD + BUCKETS > old.length)
      this.#words = new Uint32Array(Math.ceil(old.length * 1.5));
    this.#words.set(old.subarray(this.#start, this.#end));
    this.#last -= this.#start;
    this.#start = 0;
    this.#end = used;
  }
}
