/**
 * Standard output or error that nobody waits for: what its reader does not take is kept up to a bound, and what comes
 * beyond that is lost and counted.
 */
import { constants, fstatSync, openSync, writevSync } from 'node:fs';
import { isatty } from 'node:tty';
import { Backoff } from './backoff.ts';
import { uptime } from './time.ts';

/** Most bytes that are kept. */
const MAX_KEPT_BYTES = 4 * 2 ** 20;
/** Bytes that a line costs in addition to its text. */
const LINE_OVERHEAD_BYTES = 200;
/** Most lines written at once. */
const LINES_AT_ONCE = 256;
/** Milliseconds between two looks whether the reader reads again. */
const FIRST_PAUSE_MS = 1;
const LONGEST_PAUSE_MS = 50;
/** How long the end of the process waits for a reader that takes nothing. */
const FLUSH_TIMEOUT_MS = 1000;

export class Output {
  /** True where a person may sit before it. */
  readonly isTerminal: boolean;
  /** Called when lines are taken again, with the number of those that were lost meanwhile. */
  onTakenAgain: (lost: number) => void = () => undefined;
  readonly #descriptor: number;
  /** Lines, the first of which may have begun. */
  #kept: Buffer[] = [];
  #cost = 0;
  readonly #backoff = new Backoff(FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
  #timer: NodeJS.Timeout | undefined;
  #lost = 0;
  #unreported = 0;

  constructor(descriptor: 1 | 2) {
    this.isTerminal = isatty(descriptor);
    this.#descriptor = withoutWaiting(descriptor);
  }

  /** Lines that were lost so far. */
  get lost(): number {
    return this.#lost;
  }

  /** Writes a line, which ends with its newline. */
  write(line: string): void {
    const bytes = Buffer.from(line);
    const cost = bytes.length + LINE_OVERHEAD_BYTES;
    if (this.#cost + cost > MAX_KEPT_BYTES) return this.#lose(1);
    this.#kept.push(bytes);
    this.#cost += cost;
    if (this.#timer !== undefined) return;
    this.#drain();
    this.#lookLater();
  }

  /** For the end of the process: waits for the reader as long as it reads. */
  flush(): void {
    const clock = new Int32Array(new SharedArrayBuffer(4));
    for (let last = uptime(); this.#kept.length > 0 && uptime() - last < FLUSH_TIMEOUT_MS;) {
      if (this.#drain()) last = uptime();
      else Atomics.wait(clock, 0, 0, FIRST_PAUSE_MS);
    }
  }

  #lookLater(): void {
    if (this.#kept.length === 0 || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      if (this.#drain()) this.#backoff.reset();
      this.#lookLater();
    }, this.#backoff.next()).unref();
  }

  /** Writes what is kept as far as it is taken; true where some was. */
  #drain(): boolean {
    let taken = false;
    while (this.#kept.length > 0) {
      const lines = this.#kept.length > LINES_AT_ONCE ? this.#kept.slice(0, LINES_AT_ONCE) : this.#kept;
      const written = this.#take(lines);
      if (written === 0) break;
      taken = true;
      this.#forget(written);
    }
    if (taken && this.#unreported > 0 && this.#cost < MAX_KEPT_BYTES / 2) {
      const lost = this.#unreported;
      this.#unreported = 0;
      this.onTakenAgain(lost);
    }
    return taken;
  }

  /** Gives the number of bytes that were taken. */
  #take(lines: readonly Buffer[]): number {
    try {
      return writevSync(this.#descriptor, lines);
    } catch (thrown) {
      if ((thrown as NodeJS.ErrnoException).code === 'EAGAIN') return 0;
      // Nobody reads any more, or the disk is full: nothing is gained by keeping them.
      this.#lose(this.#kept.length);
      this.#kept = [];
      this.#cost = 0;
      return 0;
    }
  }

  #forget(written: number): void {
    let rest = written;
    let whole = 0;
    for (const line of this.#kept) {
      if (line.length > rest) break;
      rest -= line.length;
      whole++;
    }
    this.#kept.splice(0, whole);
    const [first] = this.#kept;
    if (first !== undefined && rest > 0) this.#kept[0] = first.subarray(rest);
    this.#cost -= written + whole * LINE_OVERHEAD_BYTES;
  }

  #lose(lines: number): void {
    this.#lost += lines;
    this.#unreported += lines;
  }
}

/** Gives a descriptor on which a write never waits, where the system has one. */
function withoutWaiting(descriptor: 1 | 2): number {
  try {
    const target = fstatSync(descriptor);
    // Opened anew, a pipe or a terminal stays as it is for the other programs that write to it.
    if (target.isFIFO() || target.isCharacterDevice())
      return openSync(`/dev/fd/${descriptor}`, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch {
    // It belongs to another user.
  }
  // Node makes a pipe or a socket such when it opens its stream for it. Files never wait for a reader.
  void (descriptor === 1 ? process.stdout : process.stderr);
  return descriptor;
}
