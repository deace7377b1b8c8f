import assert from 'node:assert/strict';
import { test } from 'node:test';
import { basic, jsonBody } from './support/client.ts';
import { checkedSender } from './support/interface-check.ts';
import { assertRequestError } from './support/expectations.ts';
import { resourceKo, uniqueNaan } from './support/ko.ts';
import { startService } from './support/service.ts';
import { theService } from './support/the-service.ts';

const service = await theService();
const REGISTRATION = '/proxy/environments';

test('artifacts are readable for runtimes as they were loaded, as long as endpoints are active', async () => {
  const naan = uniqueNaan();
  const ko = resourceKo({ naan, resources: { 'data/table.csv': 'a,b\n1,2\n' } });
  await service.serve(ko);
  const artifact = `/proxy/artifacts/${ko.id}/data/table.csv`;
  assert.equal((await service.get(artifact)).text, 'a,b\n1,2\n');
  await service.add(resourceKo({ naan, resources: { 'data/table.csv': 'new' } }));
  assert.equal((await service.get(artifact)).text, 'a,b\n1,2\n');
  assert.equal((await service.delete(`/kos/${ko.id}`)).status, 204);
  assert.equal((await service.get(artifact)).text, 'a,b\n1,2\n');
  assert.equal((await service.get('/actuator/activation/refresh')).status, 303);
  assertRequestError(await service.get(artifact), { status: 404, path: artifact, title: 'Not Found', detail: /./ });
});

test('a registration without engine or url is 400 and says so', async () => {
  const post = (body: object) => service.send('POST', REGISTRATION, jsonBody(body));
  const [noEngine, noUrl] = [await post({ url: 'http://127.0.0.1:1' }), await post({ engine: 'cobol' })];
  assert.equal(noEngine.status, 400);
  assert.equal(noEngine.object['status'], 'Not registered: Runtime failed to specify engine');
  assert.equal(noUrl.status, 400);
  assert.equal(noUrl.object['status'], 'Not registered: Runtime failed to specify its url');
});

test('registration of a runtime needs a login outside dev and refuses pages of other sites', async () => {
  await using own = await startService({ profile: 'secure', env: { KGRID_USER: 'u', KGRID_PASSWORD: 'p' } });
  const sent = jsonBody({ engine: 'cobol', url: 'http://127.0.0.1:1' });
  const anonymous = await checkedSender(own.url)('POST', REGISTRATION, sent);
  assertRequestError(anonymous, { status: 401, path: REGISTRATION, title: 'Unauthorized', detail: /login/ });
  const page = { ...sent, headers: { ...sent.headers, origin: 'https://evil.example', authorization: basic('u:p') } };
  const crossSite = await own.send('POST', REGISTRATION, page);
  assertRequestError(crossSite, { status: 403, path: REGISTRATION, title: 'Forbidden', detail: /./ });
  assert.equal((await checkedSender(own.url, 'u:p')('POST', REGISTRATION, sent)).status, 200);
});
