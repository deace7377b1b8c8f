import { IncomingMessage } from 'node:http';
import { GrowingBytes } from '../lib/growing-bytes.ts';

/**
 * A request whose body may come in pieces of a byte. Node makes an object of each, and those that nobody reads yet take
 * some 250 times the memory of their bytes: here, what one read of the socket gives after its first piece goes together.
 */
export class RequestInPieces extends IncomingMessage {
  #hasBegun = false;
  #waiting: GrowingBytes | undefined;

  /** Called by Node with each piece, and with null at the end; false holds up the client. */
  override push(piece: Buffer | null): boolean {
    if (piece === null) {
      this.#passOn();
      return super.push(null);
    }
    if (!this.#hasBegun) {
      this.#hasBegun = true;
      return super.push(piece);
    }
    const waiting = (this.#waiting ??= new GrowingBytes());
    // Node runs its ticks between two pieces of one read.
    if (waiting.size === 0) setImmediate(() => this.#passOn());
    waiting.add(piece);
    const most = this.readableHighWaterMark;
    return waiting.size >= most ? this.#passOn() : this.readableLength + waiting.size < most;
  }

  #passOn(): boolean {
    return this.#waiting === undefined || this.#waiting.size === 0 || super.push(this.#waiting.take());
  }
}
