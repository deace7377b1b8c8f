import { watch } from 'node:fs';
import type { FSWatcher } from 'node:fs';
import { join } from 'node:path';

/** Saving writes several times; what comes this close together is one change. */
const SETTLE_MS = 40;
const POLL_MS = 500;

/** Tells when something below a folder may have changed. Where the system cannot tell, looks twice a second. */
export class FolderWatcher implements Disposable {
  readonly #root: string;
  readonly #onChange: () => void;
  readonly #watchers = new Map<string, FSWatcher>();
  #settling: NodeJS.Timeout | undefined;
  #polling: NodeJS.Timeout | undefined;

  constructor(root: string, onChange: () => void, { poll }: { readonly poll: boolean }) {
    this.#root = root;
    this.#onChange = onChange;
    if (poll) this.#poll();
  }

  /** Watches exactly these folders, relative to the root; a folder that is new may hold files already. */
  watch(folders: readonly string[]): void {
    if (this.#polling !== undefined) return;
    const wanted = new Set(folders);
    for (const [folder, watcher] of this.#watchers) {
      if (wanted.has(folder)) continue;
      watcher.close();
      this.#watchers.delete(folder);
    }
    for (const folder of wanted) {
      if (this.#watchers.has(folder)) continue;
      try {
        const watcher = watch(join(this.#root, folder), () => this.#changed());
        // A folder that is removed reports an error; its parent tells of it.
        watcher.on('error', () => this.#changed());
        this.#watchers.set(folder, watcher);
        this.#changed();
      } catch (thrown) {
        const { code } = thrown as NodeJS.ErrnoException;
        if (code !== 'ENOENT' && code !== 'ENOTDIR') this.#poll();
      }
    }
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#settling);
    clearInterval(this.#polling);
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
  }

  #changed(): void {
    clearTimeout(this.#settling);
    this.#settling = setTimeout(this.#onChange, SETTLE_MS);
  }

  /** Also where the system's watchers are used up. */
  #poll(): void {
    this.#polling ??= setInterval(this.#onChange, POLL_MS);
  }
}
