/** What a run says of itself: a bar on a terminal, and a line at its end. */
import type { Context } from '../lib/context.ts';
import { EXIT, type ExitCode } from '../lib/exit.ts';
import { count, type Terminal } from '../lib/terminal.ts';
import type { RunState } from './run-files.ts';
import type { Run } from './run-records.ts';
import { PIPE, type RunOptions, type RunSettings } from './settings.ts';
import type { Source } from './source.ts';

export interface Reported {
  readonly context: Context;
  readonly terminal: Terminal;
  readonly input: string;
  readonly options: RunOptions;
  readonly settings: RunSettings;
}

const EVERY_MS = 250;
/** Pause between lines about waiting, without a terminal. */
const NOTE_EVERY_MS = 10_000;

export class RunReport {
  readonly #of: Reported;
  readonly #source: Source;
  readonly #from: RunState;
  readonly #began = performance.now();
  #startPart: number | undefined;
  #shownAt = -Infinity;
  #notedAt = -Infinity;
  #wait: string | undefined;
  #now: Pick<RunState, 'records' | 'failed'>;

  constructor(of: Reported, source: Source, from: RunState) {
    this.#of = of;
    this.#source = source;
    this.#from = from;
    this.#now = from;
    if (from.records > 0) of.terminal.note(`Going on after ${count(from.records, 'record')}`);
  }

  progress(now: Pick<RunState, 'records' | 'failed'>): void {
    this.#now = now;
    this.#startPart ??= this.#part;
    if (performance.now() - this.#shownAt > EVERY_MS) this.#show();
  }

  /** Why nothing goes on at the moment. */
  wait(why: string | undefined): void {
    if (why === this.#wait) return;
    this.#wait = why;
    if (this.#of.terminal.showsProgress) return this.#show();
    if (why === undefined || performance.now() - this.#notedAt < NOTE_EVERY_MS) return;
    this.#notedAt = performance.now();
    this.#of.terminal.note(why);
  }

  /** All records had their turn. */
  whole(state: RunState): ExitCode {
    const { terminal, settings } = this.#of;
    const { records, failed } = state;
    const elapsed = this.#elapsed;
    const since = records - this.#from.records;
    const results = records - failed;
    const words = [
      `${grouped(records)} ${records === 1 ? 'record' : 'records'}: ${grouped(results)} with a result, ${grouped(failed)} failed`,
      ...(since > 0 && elapsed > 0
        ? [`in ${duration(elapsed)} (${grouped(Math.round((since * 1000) / elapsed))}/s)`]
        : []),
    ].join(', ');
    this.#line(failed > 0 ? terminal.warning(words) : terminal.good(words));
    const { files } = settings;
    if (files !== undefined) this.#line(`  results: ${files.output}`);
    if (failed > 0 && files !== undefined) this.#line(`  failures: ${files.failures}`);
    this.#noteLost(state.lost);
    this.#json(true, state);
    return failed > 0 ? EXIT.problems : EXIT.ok;
  }

  /** It ended before all records had their turn. */
  stopped(why: string, { kept }: Pick<Run, 'kept'>): ExitCode {
    const { terminal, settings, options, input } = this.#of;
    const { files } = settings;
    terminal.note(terminal.bad(why));
    const done = kept.records;
    if (done === 0) terminal.note('Nothing was done');
    else if (files === undefined) terminal.note(`${count(done, 'record')} had their turn`);
    else if (input === PIPE)
      terminal.note(`${count(done, 'record')} are done, and lie in ${files.folder}: a pipe cannot be read again`);
    else
      terminal.note(
        `${count(done, 'record')} of ${input} ${done === 1 ? 'is' : 'are'} done and kept: the same command with --resume goes on from there`,
      );
    if (options.json === true) this.#json(false, kept, why);
    return done === 0 ? EXIT.usage : EXIT.problems;
  }

  #noteLost(lost: readonly string[]): void {
    if (lost.length > 0)
      this.#of.terminal.note(
        `Not written, since the response schema does not name them: ${lost.join(', ')} (--to ndjson writes all of a result)`,
      );
  }

  #line(text: string): void {
    const { terminal, settings } = this.#of;
    if (settings.files === undefined) terminal.note(text);
    else terminal.print(text);
  }

  #json(isWhole: boolean, { records, failed }: Pick<RunState, 'records' | 'failed'>, stopped?: string): void {
    const { terminal, settings } = this.#of;
    terminal.json({
      ok: isWhole && failed === 0,
      records,
      failed,
      output: settings.output,
      ...(failed > 0 && settings.files !== undefined ? { failures: settings.files.failures } : {}),
      ...(stopped === undefined ? {} : { stopped }),
      seconds: Math.round(this.#elapsed) / 1000,
    });
  }

  get #elapsed(): number {
    return performance.now() - this.#began;
  }

  get #part(): number | undefined {
    const { size, position } = this.#source;
    return size === undefined || size === 0 ? undefined : position / size;
  }

  #show(): void {
    this.#shownAt = performance.now();
    this.#of.terminal.progress(
      progressLine({
        ...this.#now,
        since: this.#now.records - this.#from.records,
        elapsed: this.#elapsed,
        part: this.#part,
        startPart: this.#startPart ?? 0,
        wait: this.#wait,
      }),
    );
  }
}

const WIDTH = 20;

interface Progress {
  readonly records: number;
  readonly failed: number;
  /** Records of this run, without those of a run before it. */
  readonly since: number;
  /** Milliseconds of this run. */
  readonly elapsed: number;
  /** Part of the input that is done, from 0 to 1; undefined where its size is unknown. */
  readonly part: number | undefined;
  /** `part` at the beginning of this run. */
  readonly startPart: number;
  readonly wait: string | undefined;
}

/** One line: how far, how fast, what failed, and how long it still takes. */
function progressLine({ records, failed, since, elapsed, part, startPart, wait }: Progress): string {
  const rate = elapsed > 0 ? (since * 1000) / elapsed : 0;
  const done = part === undefined ? undefined : Math.min(part, 1);
  const left = done === undefined || done <= startPart ? undefined : (elapsed * (1 - done)) / (done - startPart);
  return [
    ...(done === undefined
      ? []
      : [`${'#'.repeat(Math.floor(done * WIDTH)).padEnd(WIDTH, '.')} ${Math.floor(done * 100)} %`]),
    count(records, 'record'),
    `${grouped(Math.round(rate))}/s`,
    ...(failed === 0 ? [] : [`${grouped(failed)} failed`]),
    ...(wait === undefined ? (left === undefined ? [] : [`${duration(left)} left`]) : [wait]),
  ].join('  ');
}

const grouped = (number: number): string => number.toLocaleString('en-US');

function duration(milliseconds: number): string {
  const seconds = Math.ceil(milliseconds / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60
    ? `${minutes}:${String(seconds % 60).padStart(2, '0')} min`
    : `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, '0')} h`;
}
