/**
 * Finds out whether code loads. A new isolate costs five times as much as a new context in one that is there, so that
 * code is checked in contexts of one isolate, which nobody calls; for calls each endpoint has an isolate of its own.
 */
import ivm from 'isolated-vm';
import type { LoadRequest } from '../code-files.ts';
import { compileBoot } from './boot.ts';
import { Realm, failureOf } from './realm.ts';
import type { Host } from './realm.ts';

/** Contexts are collected only when memory gets short: more of them cost more than the isolate does. */
const MOST_USES = 16;
const MB = 1024 * 1024;

export class Checks {
  #shared: { readonly isolate: ivm.Isolate; readonly boot: ivm.Script; readonly heapMb: number } | undefined;
  #uses = 0;

  /** Why code cannot be loaded, or an empty text; undefined where it needs more memory than is left here. */
  problemOf(load: LoadRequest, host: Host): string | undefined {
    if (this.#uses >= MOST_USES || this.#shared?.heapMb !== load.heapMb) this.#end();
    this.#uses++;
    const { isolate, boot } = (this.#shared ??= this.#begin(load.heapMb));
    try {
      Realm.create(isolate, boot, load, host).release();
      // The next finds most of the memory free, so that what it throws is its own fault.
      if (isolate.getHeapStatisticsSync().used_heap_size > (load.heapMb * MB) / 4) this.#end();
      return '';
    } catch (thrown) {
      const { kind, description } = failureOf(thrown, isolate);
      this.#end();
      if (kind === 'memory') return undefined;
      return kind === 'timeout' ? kind : description;
    }
  }

  #begin(heapMb: number) {
    const isolate = new ivm.Isolate({ memoryLimit: heapMb });
    return { isolate, boot: compileBoot(isolate), heapMb };
  }

  #end(): void {
    if (this.#shared?.isolate.isDisposed === false) this.#shared.isolate.dispose();
    this.#shared = undefined;
    this.#uses = 0;
  }
}
