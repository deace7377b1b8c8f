/** Whole milliseconds since the process began, by a clock that nobody sets: limits hold whatever the date does. */
export const uptime = (): number => Math.floor(performance.now());
