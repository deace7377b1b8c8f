/**
 * How processes of the service talk by pipe: frames. A frame is a header of 13 bytes (length of the text, kind, two
 * numbers) and a text in UTF-8.
 */
import { isUtf8 } from 'node:buffer';

const HEADER_BYTES = 13;
/** The kind of frames, from any process, whose text nobody needs: it is read as bytes, a character for each. */
export const RESULT_LINES = 32;

/** `encoding`: `latin1` for a text that has a character for each byte. */
export function frame(kind: number, a: number, b: number, text: string, encoding: 'utf8' | 'latin1' = 'utf8'): Buffer {
  const length = Buffer.byteLength(text, encoding);
  const bytes = Buffer.allocUnsafe(HEADER_BYTES + length);
  bytes.writeUInt32LE(length, 0);
  bytes[4] = kind;
  bytes.writeUInt32LE(a >>> 0, 5);
  bytes.writeUInt32LE(b >>> 0, 9);
  bytes.write(text, HEADER_BYTES, encoding);
  return bytes;
}

export type OnFrame = (kind: number, a: number, b: number, text: string) => void;

/** What no frame of the other side looks like. */
export class ProtocolError extends Error {
  override readonly name = 'ProtocolError';
}

/** Buffers that wait for the rest of a frame have at least so many bytes. */
const MIN_BUFFER_BYTES = 1024;
const NOTHING = Buffer.alloc(0);

/** Cuts a stream of bytes into frames. */
export class FrameReader {
  readonly #onFrame: OnFrame;
  readonly #mostOf: (kind: number) => number;
  /** The beginning of a frame whose rest has not come; small chunks are put together, so that each costs its bytes only. */
  #begun = NOTHING;
  #size = 0;

  /** `mostOf`: bytes that the text of a frame of that kind may have now. */
  constructor(onFrame: OnFrame, mostOf: (kind: number) => number = () => Infinity) {
    this.#onFrame = onFrame;
    this.#mostOf = mostOf;
  }

  /** @throws ProtocolError; nothing can be read after it. */
  push(chunk: Buffer): void {
    for (let at = 0; at < chunk.length;) {
      const have = chunk.length - at;
      if (this.#size === 0 && have >= HEADER_BYTES) {
        const length = this.#lengthAt(chunk, at);
        if (length <= have) {
          this.#emit(chunk, at, at + length);
          at += length;
          continue;
        }
      }
      at += this.#fill(chunk, at);
      if (this.#size < HEADER_BYTES || this.#size < this.#lengthAt(this.#begun, 0)) continue;
      const whole = this.#begun;
      const size = this.#size;
      this.#begun = NOTHING;
      this.#size = 0;
      this.#emit(whole, 0, size);
    }
  }

  /** True when a frame has begun and not ended. */
  get isWithin(): boolean {
    return this.#size > 0;
  }

  /** Takes what belongs to the header or to the frame that has begun; gives how many bytes it took. */
  #fill(chunk: Buffer, at: number): number {
    const wanted = this.#size < HEADER_BYTES ? HEADER_BYTES : this.#lengthAt(this.#begun, 0);
    const taken = Math.min(wanted - this.#size, chunk.length - at);
    const size = this.#size + taken;
    if (size > this.#begun.length) {
      const room = Buffer.allocUnsafeSlow(Math.max(MIN_BUFFER_BYTES, size, Math.min(wanted, 2 * size)));
      this.#begun.copy(room, 0, 0, this.#size);
      this.#begun = room;
    }
    chunk.copy(this.#begun, this.#size, at, at + taken);
    this.#size = size;
    return taken;
  }

  /** Bytes of the frame whose header is there. */
  #lengthAt(bytes: Buffer, at: number): number {
    const length = bytes.readUInt32LE(at);
    const kind = bytes[at + 4] ?? 0;
    if (length > this.#mostOf(kind)) throw new ProtocolError(`a frame of kind ${kind} has ${length} bytes`);
    return HEADER_BYTES + length;
  }

  #emit(bytes: Buffer, at: number, end: number): void {
    const kind = bytes[at + 4] ?? 0;
    const areBytes = kind === RESULT_LINES;
    const text = bytes.toString(areBytes ? 'latin1' : 'utf8', at + HEADER_BYTES, end);
    // What is no UTF-8 becomes this character, which a text may hold too.
    if ((areBytes || text.includes('\ufffd')) && !isUtf8(bytes.subarray(at + HEADER_BYTES, end)))
      throw new ProtocolError('the text of a frame is not UTF-8');
    this.#onFrame(kind, bytes.readUInt32LE(at + 5), bytes.readUInt32LE(at + 9), text);
  }
}

/** A header has four numbers of ten digits at most. */
const MOST_HEADER_CHARACTERS = 44;
const LINE_FEED = 10;

/**
 * Cuts frames whose header is text: `<bytes> <kind> <a> <b>` and a line feed, for programs in languages that cannot write
 * other bytes.
 */
export class TextFrameReader {
  readonly #frames: FrameReader;
  #header = '';
  /** Bytes of the text that have not come. */
  #left = 0;

  constructor(...parts: ConstructorParameters<typeof FrameReader>) {
    this.#frames = new FrameReader(...parts);
  }

  /** @throws ProtocolError; nothing can be read after it. */
  push(chunk: Buffer): void {
    for (let at = 0; at < chunk.length;) {
      if (this.#left > 0) {
        const part = chunk.subarray(at, at + this.#left);
        this.#frames.push(part);
        this.#left -= part.length;
        at += part.length;
        continue;
      }
      const end = chunk.indexOf(LINE_FEED, at);
      this.#header += chunk.toString('latin1', at, end < 0 ? chunk.length : end);
      if (end < 0 ? this.#header.length > MOST_HEADER_CHARACTERS : !HEADER.test(this.#header))
        throw new ProtocolError('the header of a frame is not four numbers');
      if (end < 0) return;
      const [bytes = 0, kind = 0, a = 0, b = 0] = this.#header.split(' ').map(Number);
      const header = frame(kind, a, b, '');
      header.writeUInt32LE(bytes >>> 0, 0);
      this.#frames.push(header);
      this.#header = '';
      this.#left = bytes;
      at = end + 1;
    }
  }
}

const HEADER = /^\d{1,10} \d{1,3} \d{1,10} \d{1,10}$/;
