import { test } from 'node:test';
import type { TestFn } from 'node:test';

const isLong = process.env['KGRID_LONG_ROUND'] !== undefined;

/**
 * Of what can go on for as long as one likes: so much in every run of the tests, and so much in the slow rings, of which
 * the scripts in package.json set the variable.
 */
export const inRound = <T>(short: T, long: T): T => (isLong ? long : short);

/** A test of the slow rings alone. */
export function longTest(title: string, body: TestFn): void {
  if (isLong) void test(title, body);
}
