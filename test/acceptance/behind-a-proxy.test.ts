import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { uniqueNaan, welcomeKo } from './support/ko.ts';
import { startService } from './support/service.ts';

const service = await startService({ args: ['--trust-proxy'] });
after(() => service[Symbol.asyncDispose]());
const ko = welcomeKo({ naan: uniqueNaan() });
await service.serve(ko);

test('--trust-proxy believes forwarded headers', async () => {
  const forwarded = { 'x-forwarded-host': 'grid.example.org', 'x-forwarded-proto': 'https' };
  const answer = await service.get(`/endpoints/${ko.naan}/ko/1.0/welcome`, forwarded);
  assert.ok(String(answer.object['swaggerLink']).startsWith('https://grid.example.org/'));
});

test('redirects stay below the path under which a trusted proxy has the service', async () => {
  const locations = { '/actuator/reload': '/grid/endpoints', [`/kos/ark:/${ko.id}`]: `/grid/kos/${ko.id}` };
  for (const [path, location] of Object.entries(locations)) {
    const answer = await service.get(path, { 'x-forwarded-prefix': '/grid' });
    assert.equal(answer.headers.location, location);
  }
});
