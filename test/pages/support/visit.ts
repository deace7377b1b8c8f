/** Pages of a service as a person's browser shows them, and all that they did meanwhile. */
import assert from 'node:assert/strict';
import { after } from 'node:test';
import type { BrowserContext, CDPSession, Page } from 'playwright-core';
import { launchChromium } from './chromium.ts';

export const DESKTOP = { width: 1280, height: 900 };
export const PHONE = { width: 390, height: 844 };

/** Milliseconds until what does not come is given up, also on a busy machine. */
const TIMEOUT_MS = 120_000;

/** Events of a page that tests listen to. */
const LISTENED = ['console', 'dialog', 'pageerror', 'request', 'response'];

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
  /** Runs in each page that is opened from now on, before its own scripts. */
  readonly runFirst: (script: string) => Promise<void>;
  /** Asserts that nothing was asked of others, and nothing was complained about but answers that the page shows itself. */
  readonly assertQuiet: (origin: string) => void;
}

export interface Visitor {
  /** Opens a tab that keeps nothing of those before. Visits share what a browser keeps for all of its tabs: the pages must not depend on it. */
  readonly visit: (size?: Size, colorScheme?: 'light' | 'dark') => Promise<Visit>;
}

let shared: Promise<Visitor> | undefined;

/**
 * The one browser of this process: its start, and the first form that a profile of it shows, cost more than most tests. A
 * profile of its own for each visit would cost ten times what a tab does, and a new tab three times what one does that
 * was emptied.
 */
export function theBrowser(): Promise<Visitor> {
  shared ??= launch();
  return shared;
}

async function launch(): Promise<Visitor> {
  const browser = await launchChromium();
  after(() => browser.close());
  const newProfile = async (): Promise<Profile> => ({
    context: await browser.newContext({ viewport: DESKTOP, reducedMotion: 'reduce' }),
    emptied: [],
  });
  const usual = await newProfile();
  return {
    visit: (size, colorScheme) => visitIn(usual, size, colorScheme),
  };
}

async function visitIn(
  { context, emptied }: Profile,
  size: Size = DESKTOP,
  colorScheme: 'light' | 'dark' = 'light',
): Promise<Visit> {
  const tab = emptied.pop() ?? (await newTab(context));
  const { page } = tab;
  await setTouch(tab, size.width < 500);
  await page.setViewportSize(size);
  await page.emulateMedia({ colorScheme });
  return visitOf(page, async () => {
    // A second tab would be one in the background, which is drawn less often.
    if (emptied.length > 0) return page.close();
    await empty(page);
    emptied.push(tab);
  });
}

interface Profile {
  readonly context: BrowserContext;
  /** Tabs for the next visits. */
  readonly emptied: Tab[];
}

interface Tab {
  readonly page: Page;
  readonly devtools: CDPSession;
  hasTouch: boolean;
}

async function newTab(context: BrowserContext): Promise<Tab> {
  const page = await context.newPage();
  return { page, devtools: await context.newCDPSession(page), hasTouch: false };
}

async function setTouch(tab: Tab, enabled: boolean): Promise<void> {
  if (tab.hasTouch !== enabled) await tab.devtools.send('Emulation.setTouchEmulationEnabled', { enabled });
  tab.hasTouch = enabled;
}

/** Takes away what a new tab has not: what this one kept, its routes, and its page. */
async function empty(page: Page): Promise<void> {
  await page.evaluate('try { sessionStorage.clear(); localStorage.clear(); } catch {}');
  await page.unrouteAll({ behavior: 'wait' });
  await page.goto('about:blank');
}

function visitOf(page: Page, leave: () => Promise<void>): Visit {
  page.setDefaultTimeout(TIMEOUT_MS);
  const requests: string[] = [];
  const complaints: string[] = [];
  const scripts = new AsyncDisposableStack();
  page.on('request', (request) => requests.push(request.url()));
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  return {
    page,
    requests,
    complaints,
    runFirst: async (script) => void scripts.use(await page.addInitScript(script)),
    assertQuiet(origin) {
      const others = requests.filter((url) => !/^(?:data|blob):/.test(url) && new URL(url).origin !== origin);
      assert.deepEqual(others, []);
      assert.deepEqual(
        complaints.filter((each) => !/^Failed to load resource: the server responded with a status of/.test(each)),
        [],
      );
    },
    async [Symbol.asyncDispose]() {
      const cookies = await page.context().cookies();
      await scripts.disposeAsync();
      for (const event of LISTENED) page.removeAllListeners(event);
      await leave();
      assert.deepEqual(cookies, [], 'no page sets a cookie');
    },
  };
}
