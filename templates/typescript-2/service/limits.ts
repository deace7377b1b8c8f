export type Input = Readonly<Record<string, unknown>>;

export function numberBetween(input: Input, field: string, low: number, high: number): number {
  const value = input?.[field];
  if (typeof value !== 'number' || !(value >= low && value <= high)) {
    throw new Error(`${field} must be a number in mmHg from ${low} to ${high} (got ${JSON.stringify(value)})`);
  }
  return value;
}
