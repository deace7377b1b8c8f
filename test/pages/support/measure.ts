import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';

export interface Measured {
  /** Elements with text of their own. */
  readonly texts: number;
  /** Those below a contrast of 4.5 : 1, and those below 14 px. */
  readonly pale: readonly string[];
  readonly small: readonly string[];
  /** What can be touched and is less than 40 px high. */
  readonly low: readonly string[];
  /** Pixels that the page can be scrolled sideways. */
  readonly sideways: number;
  readonly headings: readonly number[];
  readonly unlabelled: readonly string[];
  readonly lang: string;
  readonly title: string;
}

const SCRIPT = readFileSync(join(import.meta.dirname, 'measure.js'), 'utf8');

export const measure = (page: Page): Promise<Measured> => page.evaluate<Measured>(SCRIPT);
