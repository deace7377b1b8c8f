/**
 * How the activator and a sandbox process talk: frames on one socket. A frame is a header of 13 bytes
 * (length of the text, kind, two numbers) and a text in UTF-8.
 */

/** From the activator to the sandbox. */
export const LOAD = 1; // a: slot; text: JSON of `LoadRequest`
export const RUN = 2; // a: slot; text: `<depth>,<milliseconds>,<guard>\n<JSON inputs joined by NUL>`
export const DROP = 3; // a: slot
export const REPLY = 4; // text: the answer to the question of the code that runs

/** From the sandbox to the activator. */
export const READY = 16;
export const LOADED = 17; // a: slot, b: microseconds; text: empty, or why it cannot be loaded
export const DONE = 18; // a: slot, b: microseconds; text: one line for each input
export const FAILED = 19; // a: slot, b: microseconds; text: JSON of `RunFailure`
export const ASK = 20; // text: JSON of `Question` but for the body, newline, body
export const LOG = 21; // a: slot; text: level, newline, text

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

/** Cuts a stream of bytes into frames. */
export class FrameReader {
  #pending: Buffer[] = [];
  #size = 0;
  #wanted = HEADER;
  readonly #onFrame: OnFrame;

  constructor(onFrame: OnFrame) {
    this.#onFrame = onFrame;
  }

  push(chunk: Buffer): void {
    this.#size += chunk.length;
    if (this.#size < this.#wanted) {
      this.#pending.push(chunk);
      return;
    }
    const bytes = this.#pending.length === 0 ? chunk : Buffer.concat([...this.#pending, chunk]);
    this.#pending = [];
    let at = 0;
    for (;;) {
      const have = bytes.length - at;
      this.#wanted = have < HEADER ? HEADER : HEADER + bytes.readUInt32LE(at);
      if (have < this.#wanted) break;
      const text = bytes.toString('utf8', at + HEADER, at + this.#wanted);
      const start = at;
      at += this.#wanted;
      this.#onFrame(bytes[start + 4] ?? 0, bytes.readUInt32LE(start + 5), bytes.readUInt32LE(start + 9), text);
    }
    if (at < bytes.length) this.#pending.push(at === 0 ? bytes : bytes.subarray(at));
    this.#size = bytes.length - at;
  }
}
