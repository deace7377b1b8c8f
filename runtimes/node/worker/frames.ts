/**
 * What the runtime and a worker say to each other over a pipe. A frame is four bytes with its length and UTF-8
 * text; the text holds any number of messages, each a header `<kind><a>,<b>,<length>\n` and a body of so many
 * UTF-16 units. Many messages a frame, because a write and a read cost more than a message.
 */
import { GrowingBytes } from './growing-bytes.ts';

export type Kind = keyof typeof kinds;

/** From the runtime to the worker, and back. */
export const kinds = {
  /** An endpoint: a = its index, body = JSON `{file, root, function}`. */
  E: 'endpoint',
  /** Load an endpoint: a = number of the call, b = index. Answered like a call. */
  L: 'load',
  /** A call: a = its number, b = index * 2 + (1 where the body is JSON), body = the input. */
  C: 'call',
  /** The answer to a call: a = its number, b = an `Answer`, body = JSON of the result or of a `Failure`. */
  A: 'answer',
  /** A call of another endpoint: a = its number, b = the number of the call that makes it, body = JSON. */
  N: 'nested',
  /** Its answer: a = its number, b = HTTP status, body = the activator's answer. */
  R: 'reply',
  /** Is the worker's event loop alive? Answered with the same. */
  P: 'ping',
  /** From the watchdog: no further call begins, a = number of the last that did. */
  S: 'sealed',
  /** The worker ends because of an exception that belongs to no call: body = its description. */
  F: 'fatal',
} as const;

export const answers = { result: 0, thrown: 1, failed: 2, invalid: 3 } as const;

export type OnMessage = (kind: Kind, a: number, b: number, body: string) => void;

export const encode = (kind: Kind, a: number, b: number, body: string): string =>
  `${kind}${a},${b},${body.length}\n${body}`;

/** A frame of encoded messages. Bodies must be well-formed, or their length changes on the way. */
export function frame(messages: string): Buffer {
  const bytes = Buffer.byteLength(messages);
  const buffer = Buffer.allocUnsafe(4 + bytes);
  buffer.writeUInt32BE(bytes, 0);
  buffer.write(messages, 4);
  return buffer;
}

export class FrameError extends Error {}

/** Takes bytes as they come and gives the messages of each complete frame. */
export class FrameReader {
  readonly #limit: number;
  readonly #onMessage: OnMessage;
  readonly #bytes = new GrowingBytes();
  #needed = 4;

  constructor(limit: number, onMessage: OnMessage) {
    this.#limit = limit;
    this.#onMessage = onMessage;
  }

  /** @throws FrameError where the bytes are not what the other side should send. */
  push(chunk: Buffer): void {
    this.#bytes.add(chunk);
    if (this.#bytes.size < this.#needed) return;
    const data = this.#bytes.take();
    let at = 0;
    this.#needed = 4;
    while (data.length - at >= 4) {
      const length = data.readUInt32BE(at);
      if (length > this.#limit) throw new FrameError(`a frame of ${length} bytes`);
      if (data.length - at - 4 < length) {
        this.#needed = 4 + length;
        break;
      }
      this.#messages(data.toString('utf8', at + 4, at + 4 + length));
      at += 4 + length;
    }
    this.#bytes.add(data.subarray(at));
  }

  #messages(text: string): void {
    let at = 0;
    while (at < text.length) {
      const end = text.indexOf('\n', at);
      const first = text.indexOf(',', at);
      const second = text.indexOf(',', first + 1);
      const kind = text.charAt(at);
      const a = Number(text.slice(at + 1, first));
      const b = Number(text.slice(first + 1, second));
      const length = Number(text.slice(second + 1, end));
      const whole = end > second && second > first && first > at;
      if (
        !whole ||
        !Object.hasOwn(kinds, kind) ||
        !isCount(a) ||
        !isCount(b) ||
        !isCount(length) ||
        end + 1 + length > text.length
      ) {
        throw new FrameError('a message without a proper header');
      }
      at = end + 1 + length;
      this.#onMessage(kind as Kind, a, b, text.slice(end + 1, at));
    }
  }
}

const isCount = (value: number): boolean => Number.isSafeInteger(value) && value >= 0;
