/** The sandbox's end of the socket: it blocks, since one thread that waits is faster than an event loop. */
import { readSync, writeSync } from 'node:fs';
import { FrameReader, frame } from '../../supervisor/frames.ts';

const SOCKET_FD = 3;

export interface Frame {
  readonly kind: number;
  readonly a: number;
  readonly b: number;
  readonly text: string;
}

export class Pipe {
  readonly #queue: Frame[] = [];
  readonly #buffer = Buffer.allocUnsafeSlow(256 * 1024);
  readonly #reader = new FrameReader((kind, a, b, text) => this.#queue.push({ kind, a, b, text }));

  /** The next frame; ends the process when the activator has gone. */
  next(): Frame {
    return this.#queue.shift() ?? this.#waitFor(() => true);
  }

  /** The next frame of one kind; others stay in their order. */
  nextOf(wanted: number): Frame {
    return this.#waitFor((kind) => kind === wanted);
  }

  /** The text of a frame that has come but waits for its turn. */
  waiting(kind: number, a: number): string | undefined {
    return this.#queue.find((each) => each.kind === kind && each.a === a)?.text;
  }

  send(kind: number, a: number, b: number, text: string): void {
    const bytes = frame(kind, a, b, text);
    for (let at = 0; at < bytes.length;) at += writeSync(SOCKET_FD, bytes, at);
  }

  #waitFor(wanted: (kind: number) => boolean): Frame {
    for (;;) {
      const at = this.#queue.findIndex((each) => wanted(each.kind));
      const [found] = at < 0 ? [] : this.#queue.splice(at, 1);
      if (found !== undefined) return found;
      const got = readSync(SOCKET_FD, this.#buffer, 0, this.#buffer.length, null);
      if (got === 0) process.kill(process.pid, 'SIGKILL');
      this.#reader.push(this.#buffer.subarray(0, got));
    }
  }
}
