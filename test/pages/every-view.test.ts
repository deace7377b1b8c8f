/** Every view at the widths and in the colours that people have: nothing breaks, and axe finds nothing. */
import { test } from 'node:test';
import { inRound } from '../support/round.ts';
import { assertUsable, openFront } from './support/front.ts';
import { exampleService } from './support/services.ts';
import { DESKTOP, PHONE, theBrowser } from './support/visit.ts';

const browser = await theBrowser();
const service = await exampleService();
const KO = 'kos/nephrology/ckdepi/v2.0';

/** By place, with what is there once it is drawn. */
const VIEWS = {
  '': 'Knowledge objects as JSON',
  health: 'Calls of the last hour',
  add: 'Import from addresses or a manifest',
  activity: 'Failed calls',
  deleted: 'Nothing that was deleted or replaced is kept.',
  login: 'Log in with a token',
  [KO]: 'Endpoints',
  [`${KO}/try`]: 'The answer comes here.',
  [`${KO}/examples`]: 'Run all',
  [`${KO}/files/service.yaml`]: 'Download',
  [`${KO}/versions/v1.0`]: /files? differs?|files differ/,
  [`${KO}/history`]: 'Packages of this version',
  [`${KO}/calls`]: 'Failed calls',
  [`${KO}/log`]: 'It printed nothing',
  'kos/demo/broken/v1.0': 'Endpoints',
};
const sizes = inRound(
  [[{ ...PHONE, width: 320 }, 'dark']],
  [
    [PHONE, 'light'],
    [{ ...PHONE, width: 320 }, 'dark'],
    [DESKTOP, 'light'],
    [DESKTOP, 'dark'],
  ],
) as readonly (readonly [typeof PHONE, 'light' | 'dark'])[];

for (const [size, colours] of sizes)
  test(`each view can be used at ${size.width} pixels, ${colours}`, async () => {
    await using visit = await browser.visit(size, colours);
    for (const [place, words] of Object.entries(VIEWS)) {
      const page = await openFront(visit, service.url, place);
      await page.getByText(words).first().waitFor();
      await assertUsable(page);
    }
    visit.assertQuiet(new URL(service.url).origin);
  });
