/** The native part of koffi, all that is needed of it: its JavaScript takes three times as long to load. */
export interface Native {
  load(path: null): { func(signature: string): (...values: unknown[]) => unknown };
  view(address: unknown, bytes: number): ArrayBuffer;
}

/** @param path nothing where there are no walls. */
export function loadNative(path: string | undefined): Native | undefined {
  if (path === undefined) return undefined;
  const loaded = { exports: {} as Native };
  process.dlopen(loaded, path);
  return loaded.exports;
}
