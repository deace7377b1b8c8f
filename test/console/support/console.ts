/** The console of a service, as a person uses it. */
import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { measure } from '../../pages/support/measure.ts';
import type { Visit } from '../../pages/support/visit.ts';

/** Shows a view; no script of others may run in it. `place`: what follows `#/`. */
export async function openConsole({ page }: Visit, url: string, place = ''): Promise<Page> {
  page.on('dialog', (dialog) => assert.fail(`a script ran: ${dialog.message()}`));
  // A colour that still changes would be measured on its way.
  await page.emulateMedia({ reducedMotion: 'reduce' });
  await page.goto(`${url}/console#/${place}`);
  await page.locator('h1').waitFor();
  return page;
}

/** Nothing of others was asked, and nothing went wrong but answers that the page shows itself. */
export function assertSafe({ requests, complaints }: Visit, url: string): void {
  const others = requests.filter((each) => !/^(?:data|blob):/.test(each) && !each.startsWith(`${url}/`));
  assert.deepEqual(others, []);
  assert.deepEqual(
    complaints.filter((each) => !/^Failed to load resource: the server responded with a status of/.test(each)),
    [],
  );
}

/** What people with weak eyes, a thumb or a screen reader need. */
export async function assertUsable(page: Page): Promise<void> {
  const { pale, small, low, sideways, unlabelled } = await measure(page);
  // Links within a sentence are as high as it is, and boxes have a label that can be touched.
  const touched = low.filter((each) => !/^(?:INPUT|A) /.test(each));
  assert.deepEqual(
    { pale, small, low: touched, sideways, unlabelled },
    { pale: [], small: [], low: [], sideways: 0, unlabelled: [] },
  );
}

/** Calls that go on meanwhile, up to eight in a second. */
export function underLoad(
  url: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): AsyncDisposable & { readonly answered: () => number } {
  let answered = 0;
  const stop = new AbortController();
  const call = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      const answer = await fetch(url, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      await answer.arrayBuffer();
      answered++;
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
  };
  const calls = [call(), call()];
  return {
    answered: () => answered,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await Promise.all(calls);
    },
  };
}
