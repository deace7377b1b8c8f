/** Which KOs of a shelf changed, in order, so that readers look at these alone. */
import type { KoId } from '../knowledge-object/id.ts';

/** Ids; who is further behind looks at all. */
const MAX_CHANGES = 4096;

export class ChangeLog {
  #revision = 0;
  #recent: KoId[] = [];
  readonly #most: number;

  constructor(most = MAX_CHANGES) {
    this.#most = most;
  }

  /** Grows with each change. */
  get revision(): number {
    return this.#revision;
  }

  note(id: KoId): void {
    this.#revision++;
    this.#recent.push(id);
    if (this.#recent.length > 2 * this.#most) this.#recent = this.#recent.slice(-this.#most);
  }

  /** What changed after that revision, some perhaps twice; undefined where that is too long ago to be known. */
  since(revision: number): readonly KoId[] | undefined {
    const many = this.#revision - revision;
    if (many < 0 || many > this.#recent.length) return undefined;
    return this.#recent.slice(this.#recent.length - many);
  }
}
