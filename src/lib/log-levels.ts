/** How much is logged, by part of the service, and changed while it runs. */
import type { Logger } from './log.ts';

export type LogLevel = 'silent' | 'error' | 'warn' | 'info' | 'debug';

/** Requests are many, and of little interest one by one. */
const QUIET_PART = 'http';

export class LogLevels {
  readonly #root: Logger;
  readonly #parts = new Map<string, Set<WeakRef<Logger>>>();
  readonly #audits = new Set<Logger>();
  readonly #configured = new Map<string, LogLevel>();

  /** Knows the children that this log gets from now on. */
  constructor(root: Logger) {
    this.#root = root;
    root.onChild = (child: Logger) => this.#adopt(child);
  }

  /** Names of the parts that log. */
  get parts(): readonly string[] {
    return [...this.#parts.keys()].sort();
  }

  /** The level of all parts without one of their own. */
  get level(): LogLevel {
    return this.#root.level as LogLevel;
  }

  set level(level: LogLevel) {
    this.#root.level = level;
    // Audit lines are written at every level but the silence with which the service began.
    if (level !== 'silent') for (const audit of this.#audits) audit.level = 'info';
    for (const part of this.#parts.keys()) this.#apply(part);
  }

  /** What was set for a part alone. */
  ownLevelOf(part: string): LogLevel | undefined {
    return this.#configured.get(part);
  }

  levelOf(part: string): LogLevel {
    const own = this.#configured.get(part);
    if (own !== undefined) return own;
    return part === QUIET_PART && this.level === 'info' ? 'warn' : this.level;
  }

  /** Undefined: as all parts. */
  setLevelOf(part: string, level: LogLevel | undefined): void {
    if (level === undefined) this.#configured.delete(part);
    else this.#configured.set(part, level);
    this.#apply(part);
  }

  #adopt(child: Logger): void {
    const { part, audit } = child.bindings();
    if (audit === true) {
      this.#audits.add(child);
      // Setting it makes it independent of its parent's level.
      child.level = String(child.level);
    }
    if (typeof part !== 'string' || audit === true) return;
    let known = this.#parts.get(part);
    if (known === undefined) this.#parts.set(part, (known = new Set()));
    for (const each of known) if (each.deref() === undefined) known.delete(each);
    known.add(new WeakRef(child));
    child.level = this.levelOf(part);
  }

  #apply(part: string): void {
    for (const each of this.#parts.get(part) ?? []) {
      const log = each.deref();
      if (log !== undefined) log.level = this.levelOf(part);
    }
  }
}
