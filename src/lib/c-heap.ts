/** The heap of the C library, where buffers, sockets and compression live. */
import { createRequire } from 'node:module';

/** As much of koffi as is used here. */
interface Koffi {
  load(library: null): { func(signature: string): (padding: number) => number };
}

let trim: (() => void) | undefined;

/**
 * Gives back to the system what is free in it. By itself the library gives back only its end, and one small piece that is
 * in use there keeps all before it. Does nothing where the library cannot do this, as musl, or koffi is not installed.
 */
export function trimHeap(): void {
  trim ??= findTrim();
  trim();
}

function findTrim(): () => void {
  try {
    const resolver = createRequire(createRequire(import.meta.url).resolve('koffi'));
    // The native part alone takes 2 MB; what is around it, 5 more and many times as long.
    const koffi = resolver(`@koromix/koffi-${process.platform}-${process.arch}`) as Koffi;
    const mallocTrim = koffi.load(null).func('int malloc_trim(size_t)');
    return () => void mallocTrim(0);
  } catch {
    return () => undefined;
  }
}
