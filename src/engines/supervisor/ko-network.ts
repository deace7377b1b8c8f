/** What the code of one knowledge object may reach, from its first endpoint to its end. */
import { NO_NETWORK } from '../network/access.ts';
import type { NetworkAccess } from '../network/access.ts';
import type { Network } from '../network/network.ts';
import type { EndpointCode } from './adapter.ts';

export class KoNetwork {
  readonly #open: () => Promise<NetworkAccess> | undefined;
  #access: NetworkAccess = NO_NETWORK;
  #opening: Promise<void> | undefined;
  #isClosed = false;

  constructor(network: Pick<Network, 'open'> | undefined, ko: string, codes: () => readonly EndpointCode[]) {
    this.#open = () => network?.open(ko, codes);
  }

  get access(): NetworkAccess {
    return this.#access;
  }

  open(): Promise<void> {
    return (this.#opening ??= this.#openOnce().catch((thrown: unknown) => {
      // The next endpoint tries again.
      this.#opening = undefined;
      throw thrown;
    }));
  }

  close(): void {
    this.#isClosed = true;
    void this.#access[Symbol.asyncDispose]();
  }

  async #openOnce(): Promise<void> {
    const opened = await this.#open();
    if (opened === undefined) return;
    this.#access = opened;
    if (this.#isClosed) this.close();
  }
}
