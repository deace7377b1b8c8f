/** The heap of the C library, where buffers, sockets and compression live. */
import { loadNative } from './native.ts';

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
    const mallocTrim = loadNative()?.func('int malloc_trim(size_t)');
    return () => void mallocTrim?.(0);
  } catch {
    return () => undefined;
  }
}
