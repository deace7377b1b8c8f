/** Upper bounds in seconds: from what a small function takes to the limit of a runtime, … */
export const CALL_BOUNDS: readonly number[] = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
];
/** … and from code that is here to packages that are installed for it. */
export const ACTIVATION_BOUNDS: readonly number[] = [0.005, 0.025, 0.1, 0.5, 2.5, 10, 30, 120, 600];

/** How often durations lay between bounds. */
export class Histogram {
  readonly bounds: readonly number[];
  /** One for each bound, and for what is beyond them. */
  readonly counts: number[];
  /** Seconds. */
  sum = 0;
  count = 0;

  constructor(bounds: readonly number[] = CALL_BOUNDS) {
    this.bounds = bounds;
    this.counts = Array<number>(bounds.length + 1).fill(0);
  }

  /** `times`: of so many that took as long. */
  observe(seconds: number, times = 1): void {
    const { bounds, counts } = this;
    let at = 0;
    while (at < bounds.length && seconds > (bounds[at] ?? 0)) at++;
    counts[at] = (counts[at] ?? 0) + times;
    this.sum += seconds * times;
    this.count += times;
  }
}
