/**
 * How the activator and a sandbox process talk: frames on one socket. A frame is a header of 13 bytes
 * (length of the text, kind, two numbers) and a text in UTF-8.
 */
import { isUtf8 } from 'node:buffer';

/** From the activator to the sandbox. */
export const LOAD = 1; // a: slot, b: 1 to be told when it begins; text: JSON of `LoadRequest`
export const RUN = 2; // a: slot, b: 1 to be told when it begins; text: `<depth>,<milliseconds>,<guard>\n<JSON inputs joined by NUL>`
export const DROP = 3; // a: slot
export const REPLY = 4; // text: the answer to the question of the code that runs

/** From the sandbox to the activator. */
export const READY = 16;
export const LOADED = 17; // a: slot, b: microseconds; text: empty, or why it cannot be loaded
export const DONE = 18; // a: slot, b: microseconds; text: one line for each input
export const FAILED = 19; // a: slot, b: microseconds; text: JSON of `RunFailure`
export const ASK = 20; // text: JSON of `Question` but for the body, newline, body
export const LOG = 21; // a: slot; text: level, newline, text
export const BEGUN = 22; // a: slot; only of guarded work: the sandbox has begun with it

/** All that a sandbox needs to bring one endpoint to life. */
export interface LoadRequest {
  heapMb: number;
  maxResult: number;
  /** Milliseconds for compiling and for the top level. */
  limit: number;
  entry: string;
  function: string;
  freshContext: boolean;
  files: Record<string, string>;
  /** What `context.getProperty` knows. */
  properties: Record<string, string>;
}

export interface RunFailure {
  /** `threw`: outside of a single answer, such as an unhandled rejection. */
  why: 'timeout' | 'memory' | 'threw';
  message: string;
  /** The frames of what was thrown, in V8's words. */
  stack?: string;
}

/** What code asks of the activator while it runs. */
export interface Question {
  question: 'find' | 'call';
  id: string;
  body: string;
  contentType: string;
  depth: number;
  /** Milliseconds that are left. */
  left: number;
}

/** To `find`: where the endpoint is. */
export type Found =
  { kind: 'none' } | { kind: 'here'; slot: number; load?: LoadRequest; limit: number } | { kind: 'elsewhere' };

const HEADER = 13;

export function frame(kind: number, a: number, b: number, text: string): Buffer {
  const length = Buffer.byteLength(text);
  const bytes = Buffer.allocUnsafe(HEADER + length);
  bytes.writeUInt32LE(length, 0);
  bytes[4] = kind;
  bytes.writeUInt32LE(a >>> 0, 5);
  bytes.writeUInt32LE(b >>> 0, 9);
  bytes.write(text, HEADER, 'utf8');
  return bytes;
}

export type OnFrame = (kind: number, a: number, b: number, text: string) => void;

/** What no frame of the other side looks like. */
export class OddFrame extends Error {
  override readonly name = 'OddFrame';
}

/** Buffers that wait for the rest of a frame have at least so many bytes. */
const SMALLEST = 1024;
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

  /** @throws OddFrame; nothing can be read after it. */
  push(chunk: Buffer): void {
    for (let at = 0; at < chunk.length;) {
      const have = chunk.length - at;
      if (this.#size === 0 && have >= HEADER) {
        const length = this.#lengthAt(chunk, at);
        if (length <= have) {
          this.#hand(chunk, at, at + length);
          at += length;
          continue;
        }
      }
      at += this.#fill(chunk, at);
      if (this.#size < HEADER || this.#size < this.#lengthAt(this.#begun, 0)) continue;
      const whole = this.#begun;
      const size = this.#size;
      this.#begun = NOTHING;
      this.#size = 0;
      this.#hand(whole, 0, size);
    }
  }

  /** True when a frame has begun and not ended. */
  get isWithin(): boolean {
    return this.#size > 0;
  }

  /** Takes what belongs to the header or to the frame that has begun; gives how many bytes it took. */
  #fill(chunk: Buffer, at: number): number {
    const wanted = this.#size < HEADER ? HEADER : this.#lengthAt(this.#begun, 0);
    const taken = Math.min(wanted - this.#size, chunk.length - at);
    const size = this.#size + taken;
    if (size > this.#begun.length) {
      const room = Buffer.allocUnsafeSlow(Math.max(SMALLEST, size, Math.min(wanted, 2 * size)));
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
    if (length > this.#mostOf(kind)) throw new OddFrame(`a frame of kind ${kind} has ${length} bytes`);
    return HEADER + length;
  }

  #hand(bytes: Buffer, at: number, end: number): void {
    const text = bytes.toString('utf8', at + HEADER, end);
    // What is no UTF-8 becomes this character, which a text may hold too.
    if (text.includes('\ufffd') && !isUtf8(bytes.subarray(at + HEADER, end)))
      throw new OddFrame('the text of a frame is not UTF-8');
    this.#onFrame(bytes[at + 4] ?? 0, bytes.readUInt32LE(at + 5), bytes.readUInt32LE(at + 9), text);
  }
}
