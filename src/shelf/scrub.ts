/** Reads what is on the shelf, slowly and again and again, so that damage is found before somebody needs the package. */
import { setTimeout as wait } from 'node:timers/promises';
import type { KoId } from '../knowledge-object/id.ts';
import type { Shelf, ShelfDamage } from './shelf.ts';

interface ScrubOptions {
  readonly shelf: Pick<Shelf, 'list' | 'verify'>;
  /** What a start took as known is read once and soon: then its damage is found as if the start had read it. */
  readonly first?: Promise<readonly KoId[]>;
  /** Milliseconds in which all is read once; 0 reads only what comes first. */
  readonly pass: number;
  /** Hears of each package that was read. */
  readonly onRead: () => void;
  readonly onDamage: (damage: ShelfDamage, id: KoId) => void;
}

const FIRST_AT_ONCE = 8;
/** Milliseconds: calls go before what is read first. */
const PAUSE_OF_FIRST_MS = 20;

/** Milliseconds between two packages, at the least: a small shelf is read within minutes, and rests for the rest of the time. */
const LEAST_PAUSE_MS = 1000;

export function scrub({ shelf, first, pass, onRead, onDamage }: ScrubOptions): Disposable {
  const ended = new AbortController();
  const rest = async (milliseconds: number): Promise<void> => {
    // Somebody may set the clock of the machine.
    const until = performance.now() + milliseconds;
    // Timers take no more than 24 days.
    for (let left = milliseconds; left > 0; left = until - performance.now())
      await wait(Math.min(left, LONGEST_TIMER_MS), undefined, { ref: false, signal: ended.signal });
  };
  async function read(id: KoId): Promise<void> {
    // What cannot be read now is told by the health.
    const damage = await shelf.verify(id).catch(() => undefined);
    onRead();
    if (damage !== undefined) onDamage(damage, id);
  }
  async function run(): Promise<void> {
    const soon = (await first) ?? [];
    for (let at = 0; at < soon.length; at += FIRST_AT_ONCE) {
      await rest(PAUSE_OF_FIRST_MS);
      await Promise.all(soon.slice(at, at + FIRST_AT_ONCE).map(read));
    }
    while (pass > 0) {
      const began = performance.now();
      const entries = await shelf.list().catch(() => []);
      // Starts may come more often than a pass ends: each begins elsewhere.
      const begin = Math.floor(Math.random() * entries.length);
      const pause = Math.max(LEAST_PAUSE_MS, pass / (entries.length + 1));
      for (const { id } of [...entries.slice(begin), ...entries.slice(0, begin)]) {
        await rest(Math.min(pause, LONGEST_PAUSE_MS));
        await read(id);
      }
      await rest(Math.max(LEAST_PAUSE_MS, began + pass - performance.now()));
    }
  }
  void run().catch(() => undefined);
  return { [Symbol.dispose]: () => ended.abort() };
}

const LONGEST_TIMER_MS = 86_400_000;
const LONGEST_PAUSE_MS = 60_000;

const FIRST_AFTER_MILLISECONDS = 60_000;
const EVERY_MILLISECONDS = 3_600_000;

interface Intervals {
  readonly first: number;
  readonly every: number;
}

/** Gives back the space of what is kept for too long, as long as the shelf is open; a start itself takes nothing away. */
export function discardRegularly(
  shelf: Pick<Shelf, 'discardRemoved'>,
  onWarning: (message: string, cause?: unknown) => void,
  { first, every }: Intervals = { first: FIRST_AFTER_MILLISECONDS, every: EVERY_MILLISECONDS },
): Disposable {
  let timer = setTimeout(discard, first).unref();
  let ended = false;
  function discard(): void {
    shelf
      .discardRemoved()
      .catch((thrown: unknown) => {
        if (!ended) onWarning('What is kept beyond its bounds could not be given back; it is tried again', thrown);
      })
      .finally(() => {
        if (!ended) timer = setTimeout(discard, every).unref();
      });
  }
  return {
    [Symbol.dispose]() {
      ended = true;
      clearTimeout(timer);
    },
  };
}
