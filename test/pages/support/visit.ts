/** Pages of a service as a person's browser shows them, and all that they did meanwhile. */
import assert from 'node:assert/strict';
import { after } from 'node:test';
import type { BrowserContext, Page } from 'playwright-core';
import { launchChromium } from './chromium.ts';

export const DESKTOP = { width: 1280, height: 900 };
export const PHONE = { width: 390, height: 844 };
export const NARROW = [320, 360, 390].map((width) => ({ width, height: 800 }));

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
  /** Opens a new tab. Visits share what a browser keeps for all of its tabs: the pages must not depend on it. */
  readonly visit: (size?: Size, colorScheme?: 'light' | 'dark') => Promise<Visit>;
  /** In a profile of its own, for what a test changes for all tabs, such as the clock. */
  readonly visitApart: () => Promise<Visit>;
}

let shared: Promise<Visitor> | undefined;

/**
 * The one browser of this process: its start, and the first form that a profile of it shows, cost more than most tests. A
 * profile of its own for each visit would cost ten times what a tab does.
 */
export function theBrowser(): Promise<Visitor> {
  shared ??= launch();
  return shared;
}

async function launch(): Promise<Visitor> {
  const browser = await launchChromium();
  after(() => browser.close());
  const contexts = new Map<boolean, Promise<BrowserContext>>();
  return {
    async visit(size = DESKTOP, colorScheme = 'light') {
      const hasTouch = size.width < 500;
      const context = contexts.get(hasTouch) ?? browser.newContext({ hasTouch, viewport: size });
      contexts.set(hasTouch, context);
      const page = await (await context).newPage();
      await page.setViewportSize(size);
      await page.emulateMedia({ colorScheme });
      return visitOf(page);
    },
    visitApart: async () => visitOf(await (await browser.newContext({ viewport: DESKTOP })).newPage()),
  };
}

function visitOf(page: Page): Visit {
  page.setDefaultTimeout(TIMEOUT_MS);
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
    async [Symbol.asyncDispose]() {
      const context = page.context();
      await page.close();
      assert.deepEqual(await context.cookies(), [], 'no page sets a cookie');
    },
  };
}
