/** What the service and the processes that it started use. Reading it costs a call of the system for each process. */
import { readdir, readFile } from 'node:fs/promises';
import type { EngineFigures } from '../engines/engine.ts';
import { uptime } from '../lib/uptime.ts';

/** Milliseconds for which it counts. */
const FRESH_MS = 1000;

export interface ProcessFigures {
  /** Resident bytes by kind and engine; of the service itself without one. */
  readonly memory: readonly (readonly [kind: string, engine: string, bytes: number])[];
  readonly virtual: number | undefined;
  readonly openFiles: number | undefined;
}

export class ProcessReader {
  readonly #engines: () => Iterable<readonly [engine: string, EngineFigures]>;
  #read: { readonly at: number; readonly figures: Promise<ProcessFigures> } | undefined;
  #mostFiles: Promise<number | undefined> | undefined;

  constructor(engines: () => Iterable<readonly [string, EngineFigures]>) {
    this.#engines = engines;
  }

  /** As they are, or were within the last second. */
  figures(): Promise<ProcessFigures> {
    const at = uptime();
    if (this.#read === undefined || at - this.#read.at >= FRESH_MS) this.#read = { at, figures: this.#readAll() };
    return this.#read.figures;
  }

  /** Files that the service may have open; undefined where there is no end, or the system does not tell. */
  mostFiles(): Promise<number | undefined> {
    return (this.#mostFiles ??= readFile('/proc/self/limits', 'latin1').then(
      (text) => numberIn(/^Max open files +(\d+)/m.exec(text)?.[1]),
      () => undefined,
    ));
  }

  async #readAll(): Promise<ProcessFigures> {
    const memory: [string, string, number][] = [['service', '', process.memoryUsage.rss()]];
    for (const [engine, { processes }] of this.#engines()) {
      const kinds = new Map<string, number>();
      for (const { kind, memory } of processes) kinds.set(kind, (kinds.get(kind) ?? 0) + memory());
      for (const [kind, bytes] of kinds) memory.push([kind, engine, bytes]);
    }
    const [files, status] = await Promise.all([
      readdir('/proc/self/fd').catch(() => undefined),
      readFile('/proc/self/status', 'latin1').catch(() => ''),
    ]);
    const kilobytes = numberIn(/^VmSize:\s+(\d+) kB/m.exec(status)?.[1]);
    return {
      memory,
      virtual: kilobytes === undefined ? undefined : kilobytes * 1024,
      // One of them is the folder that was read.
      openFiles: files && files.length - 1,
    };
  }
}

const numberIn = (text: string | undefined): number | undefined => (text === undefined ? undefined : Number(text));
