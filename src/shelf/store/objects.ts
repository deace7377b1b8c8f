/**
 * The contract of what keeps the contents of packages: each file once, by its sha256, stored before the row that names it.
 * What no row names is garbage.
 */
import type { HashedFile } from '../package/package-content.ts';

/** Something to be stored: a file that is on the disk already and may be moved away, or a text. */
export interface Source {
  readonly sha256: string;
  readonly size: number;
  readonly from: { readonly path: string } | { readonly text: string };
  /** True for the listing of a package. */
  readonly isListing?: boolean;
}

/** What was stored just now, and is named by no row yet. */
export interface Stored {
  /** Takes away what came with this and nothing else names. Never rejects. */
  discard(): Promise<void>;
  /** From now on rows say what stays. */
  release(): void;
}

/** What is there is not what was stored: the message says of a file what it is, such as `is missing`. */
export class DamagedObject extends Error {
  /** In the package, where it is known. */
  readonly path: string | undefined;

  constructor(message: string, path?: string) {
    super(message);
    this.path = path;
  }
}

export interface Objects {
  /** Durable when this returns. What is there already and whole is not written again. @throws errors of the system or the database. */
  put(sources: readonly Source[], isNamed: (digest: string) => Promise<boolean>): Promise<Stored>;
  /** Notes that the package of a listing is on the shelf, or is no longer. Never rejects: only a database that is made again asks. */
  mark(listing: string, isOnShelf: boolean): Promise<void>;
  /**
   * Makes files ready to be read. @throws DamagedObject with the path, where it is known that one cannot be; errors of the system or the database.
   */
  prepare(files: readonly HashedFile[]): Promise<void>;
  /** The path of the file on this machine, or its bytes where the disk takes none. @throws as `prepare`. */
  locate(file: HashedFile): Promise<string | Buffer>;
  /** What is wrong with a file, by its bytes: as in `DamagedObject`. */
  faultOf(file: HashedFile): Promise<string | undefined>;
  /**
   * Deletes what no row names and is old enough that nobody is about to name it.
   * @param isHeld whether somebody has it open. @param now milliseconds since 1970. @returns how many.
   */
  collect(isHeld: (digest: string) => boolean, now?: number): Promise<number>;
}
