/** What is written to a worker: calls of one turn of the event loop together, and no more batches at once than it can take. */
import type { Clock } from './clock.ts';
import type { WorkerPolicy } from './worker-policy.ts';

/** Calls that were written together and are not answered yet. */
export interface Batch {
  calls: number;
  isRecent: boolean;
}

export class OutgoingFrames {
  readonly #send: (bytes: Buffer) => void;
  readonly #clock: Clock;
  readonly #policy: WorkerPolicy;
  #frames: Buffer[] = [];
  #bytes = 0;
  /** What waits there for others that are on their way. */
  #next: Batch = { calls: 0, isRecent: true };
  #recent = 0;
  /** Something waits there that is no call. */
  #isUrgent = false;
  #isDue = false;

  constructor(send: (bytes: Buffer) => void, { clock, policy }: { clock: Clock; policy: WorkerPolicy }) {
    this.#send = send;
    this.#clock = clock;
    this.#policy = policy;
  }

  /** To which the next call is going to belong. */
  get batch(): Batch {
    return this.#next;
  }

  addCall(message: Buffer): void {
    this.#next.calls++;
    this.#add(message);
  }

  /** What is no call, and waits for none. */
  addUrgent(message: Buffer): void {
    this.#isUrgent = true;
    this.#add(message);
  }

  /** A call of that batch was answered. */
  answered(batch: Batch): void {
    if (--batch.calls === 0) this.#age(batch);
  }

  #add(message: Buffer): void {
    if (this.#bytes > 0 && this.#bytes + message.length > this.#policy.batchBytes) this.#flush();
    this.#frames.push(message);
    this.#bytes += message.length;
    this.#schedule();
  }

  #schedule(): void {
    const mayFlush = this.#isUrgent || this.#recent < this.#policy.batchesInFlight;
    if (this.#isDue || this.#bytes === 0 || !mayFlush) return;
    this.#isDue = true;
    this.#clock.soon(() => {
      this.#isDue = false;
      this.#flush();
    });
  }

  /** It holds up the next no more. */
  #age(batch: Batch): void {
    if (!batch.isRecent) return;
    batch.isRecent = false;
    this.#recent--;
    this.#schedule();
  }

  #flush(): void {
    const [first, ...others] = this.#frames;
    if (first === undefined) return;
    const out = others.length === 0 ? first : Buffer.concat(this.#frames, this.#bytes);
    this.#frames = [];
    this.#bytes = 0;
    this.#isUrgent = false;
    const batch = this.#next;
    if (batch.calls > 0) {
      this.#next = { calls: 0, isRecent: true };
      this.#recent++;
      this.#clock.after(this.#policy.recentMs, () => this.#age(batch));
    }
    this.#send(out);
  }
}
