import type { Shelf } from './shelf.ts';

const FIRST_AFTER_MILLISECONDS = 60_000;
const EVERY_MILLISECONDS = 3_600_000;

export interface Intervals {
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
