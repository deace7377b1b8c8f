/** Who follows the events of the service. Each event is made once, as a line of JSON, whoever reads it. */
import { Readable } from 'node:stream';
import { escapeSteering } from '../../lib/log.ts';
import { uptime } from '../../lib/uptime.ts';

export interface ServiceEvent {
  readonly type: string;
  readonly [key: string]: unknown;
}

/** Bytes that a listener may leave unread. */
const MOST_UNREAD_BYTES = 2 ** 20;
/** Milliseconds for what is unread when a stream ends. */
const LINGER_MS = 1000;

export const lineOf = (event: ServiceEvent): Buffer => Buffer.from(`${escapeSteering(JSON.stringify(event))}\n`);

/** What one of them reads. It ends when its reader does not keep up. */
export class Listener extends Readable {
  /** Lines that wait for those before them, with the ids of their audit records. */
  #waiting: (readonly [line: Buffer, id: number | undefined])[] | undefined = [];
  #waitingBytes = 0;
  #hasEnded = false;

  constructor() {
    super({ highWaterMark: MOST_UNREAD_BYTES });
  }

  override _read(): void {
    // Lines come by themselves.
  }

  /** What comes first; then that which came meanwhile, without the audit records up to `known`. */
  begin(lines: readonly Buffer[], known: number): void {
    const waiting = this.#waiting ?? [];
    this.#waiting = undefined;
    for (const line of lines) this.give(line);
    for (const [line, id] of waiting) if (id === undefined || id > known) this.give(line);
  }

  /** `id`: of the audit record that it holds. */
  give(line: Buffer, id?: number): void {
    if (this.destroyed || this.#hasEnded) return;
    const unread = this.#waiting === undefined ? this.readableLength : (this.#waitingBytes += line.length);
    if (unread + line.length > MOST_UNREAD_BYTES) this.destroy();
    else if (this.#waiting !== undefined) this.#waiting.push([line, id]);
    else this.push(line);
  }

  /** Whoever does not read the rest within a moment does not get it. */
  end(): void {
    if (this.destroyed || this.#hasEnded) return;
    this.#hasEnded = true;
    this.push(null);
    setTimeout(() => this.emit('late'), LINGER_MS).unref();
  }
}

export class Listeners {
  readonly #all = new Set<Listener>();
  readonly #onFirst: () => void;
  readonly #onNone: () => void;
  #told = uptime();

  /** `onFirst`: there is one now, and there was none; `onNone`: there is none any more. */
  constructor(onFirst: () => void, onNone: () => void) {
    this.#onFirst = onFirst;
    this.#onNone = onNone;
  }

  get count(): number {
    return this.#all.size;
  }

  /** Milliseconds since all of them were told something. */
  get silence(): number {
    return uptime() - this.#told;
  }

  add(listener: Listener): void {
    this.#all.add(listener);
    listener.once('close', () => {
      if (this.#all.delete(listener) && this.#all.size === 0) this.#onNone();
    });
    if (this.#all.size === 1) this.#onFirst();
  }

  /** Costs nothing where nobody listens. */
  tell(event: ServiceEvent): void {
    if (this.#all.size > 0) this.tellLine(lineOf(event));
  }

  /** `id`: of the audit record that it holds. */
  tellLine(line: Buffer, id?: number): void {
    this.#told = uptime();
    for (const listener of this.#all) listener.give(line, id);
  }

  end(): void {
    for (const listener of this.#all) listener.end();
  }
}
