/**
 * Counts who reads which package folder, so that a folder which left the shelf goes when its last reader is
 * done: "a package's files go away only when neither the shelf nor an active endpoint refers to them".
 */
export class Leases {
  readonly #readers = new Map<string, number>();
  readonly #retired = new Set<string>();
  readonly #running = new Set<Promise<void>>();
  readonly #collect: (folder: string) => Promise<void>;

  /** @param collect removes a folder; must not reject. */
  constructor(collect: (folder: string) => Promise<void>) {
    this.#collect = collect;
  }

  /** @returns ends the lease; may be called more than once. */
  hold(folder: string): () => void {
    this.#readers.set(folder, (this.#readers.get(folder) ?? 0) + 1);
    let held = true;
    return () => {
      if (held) this.#leave(folder);
      held = false;
    };
  }

  /** Says that the shelf no longer refers to the folder. Resolves when it is gone or waits for its readers. */
  async retire(folder: string): Promise<void> {
    if (this.#readers.has(folder)) this.#retired.add(folder);
    else await this.#collect(folder);
  }

  /** Resolves when no removal is under way. */
  async settled(): Promise<void> {
    await Promise.all(this.#running);
  }

  #leave(folder: string): void {
    const left = (this.#readers.get(folder) ?? 1) - 1;
    if (left > 0) return void this.#readers.set(folder, left);
    this.#readers.delete(folder);
    if (!this.#retired.delete(folder)) return;
    const removal = this.#collect(folder).finally(() => this.#running.delete(removal));
    this.#running.add(removal);
  }
}
