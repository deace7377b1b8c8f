/** Pages of a service as a person's browser shows them, and all that they did meanwhile. */
import assert from 'node:assert/strict';
import { after } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { launchChromium } from './chromium.ts';

export const DESKTOP = { width: 1280, height: 900 };
export const PHONE = { width: 390, height: 844 };

/** Milliseconds until what does not come is given up, also on a busy machine. */
const TIMEOUT_MS = 120_000;

interface Size {
  readonly width: number;
  readonly height: number;
}

export interface Visit extends AsyncDisposable {
  readonly page: Page;
  /** URL of every request, in order. */
  readonly requests: readonly string[];
  /** Errors and warnings of the console (refusals of the content security policy are among them), and uncaught ones. */
  readonly complaints: readonly string[];
  /** Asserts that nothing was asked of others, and nothing was complained about. */
  readonly assertQuiet: (origin: string) => void;
}

export interface Visitor {
  readonly visit: (size?: Size, colorScheme?: 'light' | 'dark') => Promise<Visit>;
}

/** One browser for the tests of a file. */
export async function theBrowser(): Promise<Visitor> {
  const browser = await launchChromium();
  after(() => browser.close());
  return { visit: (size = DESKTOP, colorScheme = 'light') => visit(browser, size, colorScheme) };
}

async function visit(browser: Browser, viewport: Size, colorScheme: 'light' | 'dark'): Promise<Visit> {
  const context = await browser.newContext({ viewport, hasTouch: viewport.width < 500, colorScheme });
  context.setDefaultTimeout(TIMEOUT_MS);
  const page = await context.newPage();
  const requests: string[] = [];
  const complaints: string[] = [];
  page.on('request', (request) => requests.push(request.url()));
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  return {
    page,
    requests,
    complaints,
    assertQuiet(origin) {
      const others = requests.filter((url) => !url.startsWith('data:') && new URL(url).origin !== origin);
      assert.deepEqual(others, []);
      assert.deepEqual(complaints, []);
    },
    [Symbol.asyncDispose]: () => context.close(),
  };
}
