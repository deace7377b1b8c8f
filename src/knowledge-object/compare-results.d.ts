export interface Difference {
  /** Where in the result, such as `risk.factors[0]`; empty for the result itself. */
  readonly path: string;
  /** JSON texts; `nothing` where the result has nothing at that place. */
  readonly expected: string;
  readonly got: string;
}

/** "Of an object the keys given, of a list every element", numbers within the tolerance. */
export function differences(expected: unknown, got: unknown, tolerance: number, path?: string): Difference[];
