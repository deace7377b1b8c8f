/** Where a check says how it goes on; a terminal is one. */
export interface Progress {
  /** What goes on now, in place of what went on before; an empty text takes it away. */
  progress(text: string): void;
  /** A line beside the result. */
  note(line: string): void;
  dim(text: string): string;
}

export const SILENT: Progress = { progress: () => undefined, note: () => undefined, dim: (text) => text };
