/** What a case gets, and what it gives. */
export interface Bench {
  /** How often each thing is measured. */
  readonly rounds: number;
  /** Length of one measurement, whole seconds. */
  readonly seconds: number;
  /** Fewer knowledge objects, to see that a case runs. */
  readonly quick: boolean;
  /** How many knowledge objects are on the shelf, where the operator says so. */
  readonly kos: readonly number[] | undefined;
  /** How many records `batch` sends beside what it always sends. */
  readonly records: readonly number[] | undefined;
  /** Another working copy, whose service is measured in pairs with that of this one. */
  readonly before: string | undefined;
  /** Options of the service, whose cost is measured in pairs with a service without them. */
  readonly options: readonly string[];
  /** For shelves and scripts; removed at the end. */
  readonly folder: string;
  /** Aborts when the run is to end early. */
  readonly signal: AbortSignal;
  /** Says what goes on. */
  readonly progress: (text: string) => void;
}

/** One line of the report. Lines with the same figures stand in one table. */
export interface Row {
  readonly case: string;
  readonly what: string;
  /** By name, unit included; one value a round. */
  readonly figures: Readonly<Record<string, readonly number[]>>;
  /** Requests that were not answered with a success, or not at all. */
  readonly failed: number;
}

export interface BenchCase {
  readonly name: string;
  /** For `--help`. */
  readonly about: string;
  run(bench: Bench): Promise<Row[]>;
}
