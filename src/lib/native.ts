/** Functions of the C library. */
import { createRequire } from 'node:module';

/** The part of koffi that is used here. */
interface Koffi {
  load(library: null): Native;
}

export interface Native {
  /** @param signature in C, such as `int flock(int, int)`. @throws Error where the library has no such function. */
  func(signature: string): (...values: number[]) => number;
}

/** Undefined where koffi is not installed. */
export function loadNative(): Native | undefined {
  try {
    const resolver = createRequire(createRequire(import.meta.url).resolve('koffi'));
    // The native part alone takes 2 MB; what is around it, 5 more and many times as long.
    return (resolver(`@koromix/koffi-${process.platform}-${process.arch}`) as Koffi).load(null);
  } catch {
    return undefined;
  }
}
