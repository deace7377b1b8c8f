/** What knowledge objects print, the latest of it, for whoever looks for a fault. Bounded for each, and in all. */
import type { Level } from './supervisor/from-program.ts';

export interface ConsoleLine {
  /** Grows with each line of any knowledge object. */
  readonly id: number;
  /** Milliseconds since 1970. */
  readonly time: number;
  readonly level: Level;
  readonly text: string;
  /** Where it is known which one wrote it. */
  readonly endpoint: string | undefined;
}

export interface ConsoleBounds {
  /** Lines of one knowledge object. */
  readonly lines: number;
  /** Bytes of one knowledge object, and of all. */
  readonly bytes: number;
  readonly allBytes: number;
  /** Characters of a line. */
  readonly characters: number;
}

const CONSOLE_BOUNDS: ConsoleBounds = {
  lines: 1000,
  bytes: 256 * 1024,
  allBytes: 16 * 2 ** 20,
  characters: 4000,
};

/** Bytes that a line costs beside its text. */
const LINE_OVERHEAD_BYTES = 200;
const SEVERITY: Readonly<Record<Level, number>> = { debug: 0, info: 1, warn: 2, error: 3 };

export interface ConsoleQuery {
  /** The most lines, the latest. */
  readonly limit: number;
  /** Only lines behind the one of this id. */
  readonly after?: number | undefined;
  /** Only lines of this level or a worse one. */
  readonly level?: Level | undefined;
}

class KoLines {
  lines: ConsoleLine[] = [];
  /** Lines at the front that are let go of. */
  #gone = 0;
  bytes = 0;
  /** Lines that are not there any more. */
  lost = 0;

  add(line: ConsoleLine): void {
    this.lines.push(line);
    this.bytes += costOf(line);
  }

  get count(): number {
    return this.lines.length - this.#gone;
  }

  all(): readonly ConsoleLine[] {
    return this.lines.slice(this.#gone);
  }

  /** Lets go of the oldest. @returns its bytes. */
  drop(): number {
    const oldest = this.lines[this.#gone];
    if (oldest === undefined) return 0;
    this.#gone++;
    this.lost++;
    const cost = costOf(oldest);
    this.bytes -= cost;
    // Moving the rest for each line would cost as much as there are lines.
    if (this.#gone * 2 >= this.lines.length) {
      this.lines = this.lines.slice(this.#gone);
      this.#gone = 0;
    }
    return cost;
  }
}

export class ConsoleLines {
  readonly #bounds: ConsoleBounds;
  readonly #kos = new Map<string, KoLines>();
  #bytes = 0;
  #last = 0;

  constructor(bounds: ConsoleBounds = CONSOLE_BOUNDS) {
    this.#bounds = bounds;
  }

  /** Bytes that are held, of all. */
  get bytes(): number {
    return this.#bytes;
  }

  /** `ko`: `<naan>/<name>/<version>`. */
  add(ko: string, level: Level, text: string, endpoint?: string): void {
    const { characters, lines, bytes, allBytes } = this.#bounds;
    let own = this.#kos.get(ko);
    if (own === undefined) this.#kos.set(ko, (own = new KoLines()));
    const line = { id: ++this.#last, time: Date.now(), level, text: copyOf(text, characters), endpoint };
    own.add(line);
    this.#bytes += costOf(line);
    while (own.count > lines || (own.bytes > bytes && own.count > 1)) this.#bytes -= own.drop();
    while (this.#bytes > allBytes) this.#makeRoom();
  }

  /** The knowledge object has gone, and what it printed with it. */
  forget(ko: string): void {
    this.#bytes -= this.#kos.get(ko)?.bytes ?? 0;
    this.#kos.delete(ko);
  }

  /** Undefined where it printed nothing, as far as is known. `lost`: lines of it that came before and are gone. */
  read(
    ko: string,
    { limit, after = 0, level = 'debug' }: ConsoleQuery,
  ): { readonly lines: readonly ConsoleLine[]; readonly lost: number } | undefined {
    const own = this.#kos.get(ko);
    if (own === undefined) return undefined;
    const lines = own.all().filter((line) => line.id > after && SEVERITY[line.level] >= SEVERITY[level]);
    return { lines: lines.slice(-limit), lost: own.lost };
  }

  /** Drops half of the longest log, so that a knowledge object that prints little loses nothing to one that prints much. */
  #makeRoom(): void {
    let largest: KoLines | undefined;
    for (const own of this.#kos.values()) if (own.bytes > (largest?.bytes ?? 0)) largest = own;
    if (largest === undefined) return;
    for (let left = Math.ceil(largest.count / 2); left > 0; left--) this.#bytes -= largest.drop();
  }
}

const costOf = ({ text }: ConsoleLine): number => 2 * text.length + LINE_OVERHEAD_BYTES;

/** A part of a text that a process sent would keep all of that in memory. */
function copyOf(text: string, characters: number): string {
  const cut = text.length > characters ? `${text.slice(0, characters)}…` : text;
  return Buffer.from(cut).toString();
}
