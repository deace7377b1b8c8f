/**
 * Activations under way. One may take minutes, so whoever asks waits a little, is then told to come again, and
 * picks up the outcome by asking for the same once more.
 */
import { inProcessing } from '../lib/errors.ts';
import type { Descriptor } from './descriptor.ts';

/** Says what goes on, for those who are told to wait. */
export type Progress = (stage: string) => void;

interface Work<T> {
  readonly fingerprint: string;
  readonly outcome: Promise<T>;
  stage: string;
  /** When it ended, as `performance.now()` gives it. */
  settledAt: number | undefined;
  waiting: boolean;
}

/** An outcome that nobody picks up is not news for ever. */
const outcomeMs = 60_000;

export class Activations<T> {
  readonly #activate: (descriptor: Descriptor, progress: Progress) => Promise<T>;
  readonly #waitMs: number;
  readonly #works = new Map<string, Work<T>>();

  constructor(activate: (descriptor: Descriptor, progress: Progress) => Promise<T>, waitMs: number) {
    this.#activate = activate;
    this.#waitMs = waitMs;
  }

  /** @throws inProcessing while it is in processing, else why the endpoint cannot be activated. */
  async activate(descriptor: Descriptor): Promise<T> {
    const fingerprint = JSON.stringify(descriptor);
    const known = this.#works.get(descriptor.uri);
    const running = known?.settledAt === undefined ? known : undefined;
    if (running && (running.waiting || running.fingerprint !== fingerprint)) throw inProcessing(running.stage);
    const news = known?.fingerprint === fingerprint && performance.now() - (known.settledAt ?? Infinity) < outcomeMs;
    const work = running ?? (known && news ? known : this.#start(descriptor, fingerprint));

    work.waiting = true;
    const waited = AbortSignal.timeout(this.#waitMs);
    const late = new Promise<'late'>((resolve) => waited.addEventListener('abort', () => resolve('late')));
    const first = await Promise.race([
      work.outcome.then(
        () => 'done',
        () => 'done',
      ),
      late,
    ]);
    work.waiting = false;
    if (first === 'late') throw inProcessing(work.stage);
    if (this.#works.get(descriptor.uri) === work) this.#works.delete(descriptor.uri);
    return work.outcome;
  }

  /** An outcome that nobody has picked up is news no more. */
  forget(uri: string): void {
    if (this.#works.get(uri)?.settledAt !== undefined) this.#works.delete(uri);
  }

  #start(descriptor: Descriptor, fingerprint: string): Work<T> {
    const progress: Progress = (stage) => (work.stage = stage);
    const outcome = Promise.resolve().then(() => this.#activate(descriptor, progress));
    const work: Work<T> = { fingerprint, outcome, stage: 'waiting', settledAt: undefined, waiting: false };
    this.#works.set(descriptor.uri, work);
    const settle = (): void => {
      work.settledAt = performance.now();
    };
    outcome.then(settle, settle);
    return work;
  }
}
