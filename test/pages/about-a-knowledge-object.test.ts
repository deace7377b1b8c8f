import assert from 'node:assert/strict';
import { test } from 'node:test';
import { uniqueNaan, welcomeKo } from '../acceptance/support/ko.ts';
import { BMI, api, deployment, secondClient, secondKo, uniqueWord } from '../acceptance/support/second-generation.ts';
import { inRound } from '../support/round.ts';
import { measure } from './support/measure.ts';
import { openService } from './support/services.ts';
import { PHONE, theBrowser } from './support/visit.ts';

const HOSTILE = '<img src=x onerror=alert(1)>"\'</h1><script>alert(2)</script>';
const service = await openService();
const browser = await theBrowser();
const { serve, importOf } = secondClient(service);
const word = uniqueWord();
const place = await serve(
  secondKo({
    atId: word,
    metadata: {
      'dc:title': HOSTILE,
      'dc:version': 'v2.0',
      'dc:date': '2024-05-06',
      'dc:license': { '@id': 'https://example.org/licence' },
      'schema:creator': ['Ann Author', { 'schema:name': 'Institute' }],
      'koio:hasKnowledge': [
        {
          'dc:title': 'Guideline',
          'dc:source': 'J Med 2020;1:2, https://example.org/paper.',
          'dc:date': '2020',
          'koio:hasDocumentation': 'README.md',
        },
        { 'dc:source': 'javascript:alert(3)' },
      ],
      hasService: api(['.']),
    },
    files: { 'bmi.js': BMI, 'deployment.yaml': deployment(), 'README.md': 'Read me', 'index.html': '<h1>Mine</h1>' },
  }),
);
const silent = uniqueWord();
await importOf(secondKo({ atId: silent, metadata: { 'dc:title': undefined }, files: {} }));
const first = welcomeKo({ naan: uniqueNaan(), name: 'first', metadata: { title: 'First', contributors: 'Ben' } });
await service.serve(first);

test('the page of a knowledge object shows what it says of itself, and that the rest is not stated', async () => {
  await using visit = await browser.visit();
  const { page } = visit;
  page.on('dialog', (dialog) => assert.fail(`a script ran: ${dialog.message()}`));
  const about = page.getByRole('region', { name: 'About this knowledge object' });
  const factOf = (name: string): Promise<string> =>
    about
      .locator('dl > div', { has: page.locator('dt', { hasText: new RegExp(`^${name}$`) }) })
      .locator('dd')
      .first()
      .innerText();

  await page.goto(service.url);
  const card = page.locator('#list > li', { hasText: place });
  const own = await card.getByText('Information page').getAttribute('href');
  assert.equal(await (await fetch(`${service.url}/${own ?? ''}`)).text(), '<h1>Mine</h1>');
  await card.getByText('Try it').click();

  await page.locator('.opblock').first().waitFor();
  assert.equal(await about.getByRole('heading').innerText(), HOSTILE);
  assert.equal(await factOf('Version'), 'v2.0');
  assert.equal(await factOf('Date'), '2024-05-06');
  assert.equal(await factOf('Licence'), 'https://example.org/licence');
  assert.match(await factOf('Creator'), /^Ann Author\s+Institute$/);
  assert.equal(await factOf('Documentation'), 'not stated');
  assert.match(
    await factOf('Evidence'),
    /^Guideline\s+Source: J Med 2020;1:2, https:\/\/example\.org\/paper\.\s+Date: 2020\s+Documentation: README\.md\s+javascript:alert\(3\)$/,
  );
  const links = await page.evaluate<string[]>(`[...document.querySelectorAll('#about a')].map((each) => each.href)`);
  assert.deepEqual(links, [
    'https://example.org/licence',
    'https://example.org/paper',
    `${service.url}/kos/${place}/README.md`,
    `${service.url}/kos/${place}/index.html`,
  ]);
  const { pale, sideways } = await measure(page);
  assert.deepEqual({ pale, sideways }, { pale: [], sideways: 0 });
  visit.assertQuiet(service.url);
  await page.setViewportSize(PHONE);
  assert.equal((await measure(page)).sideways, 0);

  await page.goto(service.url);
  await page.locator('#list > li', { hasText: silent }).getByText('About').click();
  await page.getByText('has no service descriptor').or(page.locator('.opblock')).first().waitFor();
  for (const name of ['Date', 'Licence', 'Creator', 'Evidence', 'Documentation'])
    assert.equal(await factOf(name), 'not stated', name);

  if (inRound(false, true)) {
    await page.goto(`${service.url}/doc?ko=${first.id}`);
    await page.locator('.opblock').first().waitFor();
    assert.equal(await about.getByRole('heading').innerText(), 'First');
    assert.equal(await factOf('Contributors'), 'Ben');
  }
  assert.equal(await page.locator('img[src=x]').count(), 0);

  await page.goto(`${service.url}/doc?ko=no/such/${encodeURIComponent(HOSTILE)}`);
  assert.match(await page.getByRole('alert').innerText(), /^There is no knowledge object no\/such\/<img/);
});
