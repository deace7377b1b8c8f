import assert from 'node:assert/strict';
import { METHODS } from 'node:http';
import { after, test } from 'node:test';
import { jsonBody, sender, upload, type Sent } from '../acceptance/support/client.ts';
import { uniqueNaan, welcomeKo, zipOf } from '../acceptance/support/ko.ts';
import { startService } from '../acceptance/support/service.ts';
import { forAll, rawRequest, type RawRequest } from './raw-request.ts';
import { inRound } from '../support/round.ts';
import { OVERRIDES, pathOverrides, spellingsOf } from './spellings.ts';

const service = await startService({
  profile: 'secure',
  env: { KGRID_USER: 'u', KGRID_PASSWORD: 'p' },
  credentials: 'u:p',
});
after(() => service[Symbol.asyncDispose]());
const port = Number(new URL(service.url).port);
const anonymous = sender(service.url);

const ko = welcomeKo({ naan: uniqueNaan() });
await service.serve(ko);
const other = upload(await zipOf(welcomeKo({ naan: uniqueNaan() }).files));

/** Bodies are such as would do something, were they let through. */
const PROTECTED: readonly { method: string; path: string; sent?: Sent }[] = [
  { method: 'POST', path: '/kos', sent: other },
  { method: 'POST', path: '/kos/manifest', sent: jsonBody([`${service.url}/kos/${ko.id}`]) },
  { method: 'POST', path: '/kos/manifest-list', sent: jsonBody([`${service.url}/kos`]) },
  { method: 'POST', path: '/actuator/check', sent: other },
  { method: 'PUT', path: `/kos/${ko.id}`, sent: jsonBody({ changed: true }) },
  { method: 'DELETE', path: `/kos/${ko.id}` },
  { method: 'POST', path: '/proxy/environments', sent: jsonBody({ engine: 'python', url: 'http://127.0.0.1:9' }) },
  { method: 'GET', path: '/actuator/info' },
  { method: 'GET', path: '/actuator/audit' },
  { method: 'GET', path: '/actuator/history' },
  { method: 'GET', path: '/actuator/settings' },
  { method: 'GET', path: '/actuator/failures' },
  { method: 'GET', path: '/actuator/events' },
  ...['refresh', 'refresh/javascript', 'reload', `reload/${ko.id}`, `reload/${ko.naan}/${ko.name}`].flatMap((end) => [
    { method: 'GET', path: `/actuator/activation/${end}` },
    { method: 'GET', path: `/actuator/${end}` },
  ]),
];

/** What anybody could change: the shelf, the moments of activation, and what the audit says was done. */
async function state(): Promise<unknown> {
  const read = async (path: string): Promise<unknown> => (await service.get(path)).json;
  const done = service.log.filter((line) => line['audit'] === true && line['outcome'] !== 'refused');
  return {
    kos: await read('/kos'),
    endpoints: await read('/endpoints'),
    runtimes: (await service.get('/proxy/environments')).status === 200 && (await read('/proxy/environments')),
    done,
  };
}

/** Sends everything without a login and gives what was answered other than by a refusal. */
async function attack(requests: readonly RawRequest[]): Promise<string[]> {
  const before = await state();
  const passed: string[] = [];
  await forAll(requests, async (request) => {
    const { status } = await rawRequest(port, request);
    if (status !== 0 && status < 400) passed.push(`${status} ${request.method} ${request.target}`);
  });
  assert.deepEqual(await state(), before);
  return passed;
}

const toRaw = (
  method: string,
  target: string,
  sent: Sent = {},
  more: Readonly<Record<string, string>> = {},
): RawRequest => ({
  method,
  target,
  headers: { ...(sent.headers as Record<string, string> | undefined), ...more },
  ...(sent.body === undefined ? {} : { body: sent.body }),
});

test('what is tried is there and closed, also with a letter in percent form', async () => {
  for (const { method, path, sent } of PROTECTED) {
    assert.equal((await anonymous(method, path, sent)).status, 401, path);
    const spelled = path.replace(/[a-z]/, (letter) => `%${letter.charCodeAt(0).toString(16)}`);
    assert.equal((await anonymous(method, spelled, sent)).status, 401, spelled);
  }
});

/** In every run a sample: `spelling-never-bypasses` tries all of them without a process. */
const SAMPLED = inRound(4, 1);
const sampled = (requests: readonly RawRequest[]): RawRequest[] => requests.filter((_, i) => i % SAMPLED === 0);

test('no spelling of a secured path leads past the login', async () => {
  const spelled = PROTECTED.flatMap(({ method, path, sent }) =>
    spellingsOf(path).flatMap((target) =>
      (method === 'GET' ? ['GET', 'HEAD'] : [method]).map((each) => toRaw(each, target, sent)),
    ),
  );
  assert.deepEqual(await attack(sampled(spelled)), []);
});

test('no header turns an open request into a secured one', async () => {
  const requests = PROTECTED.flatMap(({ method, path, sent }) => [
    ...OVERRIDES.map((headers) => toRaw(method === 'GET' ? 'POST' : method, path, sent, headers)),
    ...pathOverrides(path).map((headers) => toRaw(method, '/nothing/is/here', sent, headers)),
  ]);
  assert.deepEqual(await attack(sampled(requests)), []);
});

test('no other method does what is secured', async () => {
  const requests = PROTECTED.flatMap(({ method, path, sent }) =>
    METHODS.filter((each) => !['CONNECT', 'OPTIONS'].includes(each))
      // Beside the writes of a path, its reads are open.
      .filter((each) => method === 'GET' || !['GET', 'HEAD'].includes(each))
      .map((each) => toRaw(each, path, sent)),
  );
  assert.deepEqual(await attack(requests), []);
  const preflights = await attack(PROTECTED.map(({ path }) => toRaw('OPTIONS', path)));
  assert.deepEqual(preflights.toSorted(), PROTECTED.map(({ path }) => `204 OPTIONS ${path}`).toSorted());
});
