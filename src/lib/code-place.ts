/** Where the code of a knowledge object failed. */
export interface CodePlace {
  /** A file of its package, by its path there. */
  readonly file: string;
  /** From 1. */
  readonly line: number;
}

/** Formats a location for people: `(src/bmi.js line 12)`. */
export const formatPlace = ({ file, line }: CodePlace): string => `(${file} line ${line})`;
