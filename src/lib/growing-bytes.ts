/**
 * Bytes that come in pieces. A piece costs more than its bytes: an object, and the block of memory that it was cut
 * from. So small ones are copied together, and what is held grows with what has come, not with how it was cut.
 */

/** A piece of at least this size is kept as it is, unless it was cut from something much larger. */
const LARGE_PIECE_BYTES = 16 * 1024;
const FIRST_BLOCK_BYTES = 1024;
const MAX_BLOCK_BYTES = 16 * 1024;
const NOTHING = Buffer.alloc(0);

export class GrowingBytes {
  /** All of it, while only one piece came: mostly nothing follows it. */
  #only: Buffer | undefined;
  /** What is full or was kept as it came. */
  #pieces: Buffer[] | undefined;
  /** Where small pieces go, and how much of it is filled. */
  #block: Buffer | undefined;
  #filled = 0;
  #size = 0;
  #held = 0;

  /** How many bytes came. */
  get size(): number {
    return this.#size;
  }

  /** Bytes of memory that they take. */
  get held(): number {
    return this.#held;
  }

  add(piece: Buffer): void {
    if (piece.length === 0) return;
    if (this.#size === 0) {
      this.#only = piece;
      this.#size = piece.length;
      this.#held = piece.buffer.byteLength;
      return;
    }
    if (this.#only !== undefined) {
      const first = this.#only;
      this.#only = undefined;
      this.#size = this.#held = 0;
      this.#append(first);
    }
    this.#append(piece);
  }

  /** All of them as one, and begins anew. One alone is given as it came. */
  take(): Buffer {
    const all = this.#only ?? (this.#size === 0 ? NOTHING : this.#joined());
    this.clear();
    return all;
  }

  clear(): void {
    this.#only = this.#pieces = this.#block = undefined;
    this.#filled = this.#size = this.#held = 0;
  }

  #append(piece: Buffer): void {
    const size = this.#size;
    this.#size += piece.length;
    let rest = piece;
    if (this.#block !== undefined) {
      const room = this.#block.length - this.#filled;
      const fitting = piece.length <= room ? piece : piece.subarray(0, room);
      this.#block.set(fitting, this.#filled);
      this.#filled += fitting.length;
      if (fitting === piece) return;
      (this.#pieces ??= []).push(this.#block);
      this.#block = undefined;
      rest = piece.subarray(room);
    }
    if (isLarge(rest)) {
      (this.#pieces ??= []).push(rest);
      this.#held += rest.buffer.byteLength;
    } else this.#begin(rest, size);
  }

  /** Begins a block that is as large as all that came before, within bounds. */
  #begin(piece: Buffer, size: number): void {
    const length = Math.max(piece.length, Math.min(Math.max(size, FIRST_BLOCK_BYTES), MAX_BLOCK_BYTES));
    // Memory of its own: a part of the common pool would keep all of that.
    this.#block = Buffer.allocUnsafeSlow(length);
    this.#block.set(piece);
    this.#filled = piece.length;
    this.#held += length;
  }

  #joined(): Buffer {
    const all = Buffer.allocUnsafeSlow(this.#size);
    let at = 0;
    for (const piece of this.#pieces ?? []) {
      all.set(piece, at);
      at += piece.length;
    }
    if (this.#block !== undefined) all.set(this.#block.subarray(0, this.#filled), at);
    return all;
  }
}

const isLarge = ({ length, buffer }: Buffer): boolean => length >= LARGE_PIECE_BYTES && buffer.byteLength <= 2 * length;
