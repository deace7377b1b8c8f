/**
 * Memory that the worker's main thread shares with its watchdog, which stays awake while the code of the knowledge
 * object keeps the main thread busy.
 *
 * It says which calls have begun: calls begin in the order of their numbers, so the number of the last one says it
 * all, and the runtime can give every later call to another worker without any of them running twice. And it holds
 * the answers of a batch until they are written, so that a call that never ends does not keep back those before it.
 */
export const dataPipe = 3;
export const controlPipe = 4;

const sealed = 0x4000_0000;
const outboxBytes = 65_536;
const slots = { begun: 0, lock: 1, length: 2 } as const;

export class Shared {
  readonly memory: SharedArrayBuffer;
  readonly #slots: Int32Array;
  readonly #outbox: Buffer;

  readonly #onBegin: (call: number) => void;

  /** @param onBegin before the call begins. */
  constructor(memory = new SharedArrayBuffer(3 * 4 + outboxBytes), onBegin: (call: number) => void = () => undefined) {
    this.#onBegin = onBegin;
    this.memory = memory;
    this.#slots = new Int32Array(memory, 0, 3);
    this.#outbox = Buffer.from(memory, 3 * 4, outboxBytes);
  }

  /** Claims the right to begin the call; false when the worker was sealed before. */
  begin(call: number): boolean {
    const last = Atomics.load(this.#slots, slots.begun);
    if ((last & sealed) !== 0 || Atomics.compareExchange(this.#slots, slots.begun, last, call) !== last) return false;
    this.#onBegin(call);
    return true;
  }

  /** From here on no call begins. @returns the number of the last that did. */
  seal(): number {
    return Atomics.or(this.#slots, slots.begun, sealed) & ~sealed;
  }

  /** Adds a message to those that wait; false where it does not fit. */
  put(message: Buffer): boolean {
    const bytes = message.length;
    this.#lock();
    const length = this.#slots[slots.length] ?? 0;
    const fits = length + bytes <= outboxBytes;
    if (fits) {
      message.copy(this.#outbox, length);
      this.#slots[slots.length] = length + bytes;
    }
    this.#unlock();
    return fits;
  }

  /** Takes out the messages that wait; undefined where there are none. */
  take(): Buffer | undefined {
    this.#lock();
    const length = this.#slots[slots.length] ?? 0;
    let messages: Buffer | undefined;
    if (length > 0) {
      messages = Buffer.allocUnsafe(length);
      this.#outbox.copy(messages, 0, 0, length);
      this.#slots[slots.length] = 0;
    }
    this.#unlock();
    return messages;
  }

  /** Held for microseconds only, and never while code of the knowledge object runs. */
  #lock(): void {
    while (Atomics.compareExchange(this.#slots, slots.lock, 0, 1) !== 0);
  }

  #unlock(): void {
    Atomics.store(this.#slots, slots.lock, 0);
  }
}
