import { inspect } from 'node:util';

/**
 * A value that must not be seen: it shows itself as `[secret]` wherever values get printed by accident (logs,
 * JSON, string conversion, a debugger's inspection) and gives itself only to `reveal`.
 */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return '[secret]';
  }

  toJSON(): string {
    return '[secret]';
  }

  [inspect.custom](): string {
    return '[secret]';
  }
}
