/** Nothing could be opened: this says nothing about what was to be opened. */
export const isOutOfHandles = (thrown: unknown): boolean =>
  thrown instanceof Error && 'code' in thrown && (thrown.code === 'EMFILE' || thrown.code === 'ENFILE');
