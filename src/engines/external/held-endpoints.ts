/** Which endpoints of this service a runtime holds, so that it can let go of what nobody needs any more. */

export class HeldEndpoints {
  /** How many of each id are active there, or are being activated. */
  readonly #counts = new Map<string, number>();
  readonly #leaving = new Map<string, Promise<unknown>>();
  readonly #deactivate: (id: string) => Promise<unknown>;

  /** `deactivate` never rejects: what stays active there costs memory, and nothing else. */
  constructor(deactivate: (id: string) => Promise<unknown>) {
    this.#deactivate = deactivate;
  }

  /** One is going to be activated there. Resolves when an earlier one of that id is not being deactivated any more. */
  async hold(id: string): Promise<void> {
    this.#counts.set(id, (this.#counts.get(id) ?? 0) + 1);
    await this.#leaving.get(id);
  }

  /** The counterpart of `hold`: the last one deactivates it. */
  release(id: string): void {
    const others = (this.#counts.get(id) ?? 1) - 1;
    if (others > 0) {
      this.#counts.set(id, others);
      return;
    }
    this.#counts.delete(id);
    const leaving = this.#deactivate(id).finally(() => this.#leaving.delete(id));
    this.#leaving.set(id, leaving);
  }
}
