/** A schema that was made ready, and what values break of it. */
import type { ValidateFunction } from 'ajv';
import type { BundledSchema } from './bundle.ts';
import { makeAjv } from './make-ajv.ts';
import { saysNumber } from './says-number.ts';
import type { ValuePath } from './says-number.ts';
import { violationsOf } from './violations.ts';
import type { Violations } from './violations.ts';

/** Characters of a value of which only the first violation is told: all of them could be millions. */
const LARGE_CHARACTERS = 1024 * 1024;

export class CompiledSchema {
  readonly #bundled: BundledSchema;
  readonly #first: ValidateFunction;
  #all: ValidateFunction | undefined;

  /** @throws Error where it cannot be compiled. */
  constructor(bundled: BundledSchema) {
    this.#bundled = bundled;
    this.#first = makeAjv(false).compile(bundled.schema);
  }

  /** Undefined for a value that is right. @throws RangeError for one that is nested too deeply. */
  check(value: unknown, characters: number): Violations | undefined {
    if (this.#first(value) === true) return undefined;
    const { names } = this.#bundled;
    if (characters > LARGE_CHARACTERS) return violationsOf(this.#first.errors ?? [], names);
    this.#all ??= makeAjv(true).compile(this.#bundled.schema);
    this.#all(value);
    const found = violationsOf(this.#all.errors ?? [], names);
    this.#all.errors = null;
    return found;
  }

  /** Whether it has `type: number` for what stands there in a value. */
  saysNumber(path: ValuePath): boolean {
    return saysNumber(this.#bundled.schema, path);
  }
}
