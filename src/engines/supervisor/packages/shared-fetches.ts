/** What an installation has fetched, and every other node of a fleet takes from there in place of the network. */

export interface Fetched {
  /** What an installation needs beside the files. */
  readonly note: string;
  readonly files: readonly {
    /** A name without `/`, under which others get it. */
    readonly name: string;
    /** A file that may be moved away. */
    readonly path: string;
  }[];
}

/** Bytes that are shared of one installation: what is larger, each node fetches for itself. */
export const MOST_SHARED_BYTES = 256 * 2 ** 20;

export interface SharedFetches {
  /**
   * Brings what another node has fetched for this key into the folder. Where none has, `fetch` does so, on one node at a
   * time, and what it gives is shared; undefined shares nothing.
   * @param folder is made where it is missing. @returns the note of another node; undefined where `fetch` was run here.
   * @throws what `fetch` throws.
   */
  obtain(key: string, folder: string, fetch: () => Promise<Fetched | undefined>): Promise<string | undefined>;
}
