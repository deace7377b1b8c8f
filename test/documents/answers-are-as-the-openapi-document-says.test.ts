import assert from 'node:assert/strict';
import { startFleet } from '../fleet/support/fleet.ts';
import { after, test } from 'node:test';
import { Answer, jsonBody, sender } from '../acceptance/support/client.ts';
import { openEvents } from '../acceptance/support/event-stream.ts';
import { ko, zipOf } from '../acceptance/support/ko.ts';
import { servePlaces } from '../acceptance/support/places.ts';
import type { Places, Respond } from '../acceptance/support/places.ts';
import { startService } from '../acceptance/support/service.ts';
import { CheckedAnswers } from './support/checked-answers.ts';
import { METHODS, operationsOf, readInterface } from './support/interface.ts';
import { MAX_BODY_BYTES, MAX_PACKAGE_BYTES, NAAN, code, files } from './support/sweep/steps.ts';
import type { Step } from './support/sweep/steps.ts';
import { fromAPage, sweep } from './support/sweep/sweep.ts';

const document = await readInterface();
const answers = new CheckedAnswers(document);
const steps = await sweep();
const service = await startService({
  args: [
    ...['--max-body', String(MAX_BODY_BYTES), '--max-package', String(MAX_PACKAGE_BYTES)],
    ...['--queue-limit', '1', '--runtime-timeout', '200ms'],
  ],
});
after(() => service[Symbol.asyncDispose]());

const run = async ([method, path, url, sent]: Step): Promise<void> =>
  answers.check(method, path, await service.send(method.toUpperCase(), url, sent));

/** True for calls, which need no login without `--secure-execution`. */
const executes = ([method, path]: Step): boolean => {
  const { security = [] } = document.paths[path]?.[method] ?? {};
  return path !== '/actuator/health' && security.some((way) => Object.keys(way).length === 0);
};

/** True for what a page of another site may not do, or what the secure profile closes. */
const isSecured = ([method, path]: Step): boolean => {
  const { security = [] } = document.paths[path]?.[method] ?? {};
  return security.length > 0 && security.every((way) => Object.keys(way).length > 0);
};

test('answers of the dev profile, to every path and its main errors, are as the document says', async () => {
  await service.serve(code, files);
  for (const step of steps) await run(step);

  await using web = await servePlaces({
    '/ko.zip': await zipOf(code.files),
    '/manifest.json': JSON.stringify(['ko.zip']),
  });
  using events = await openEvents(service.url);
  const state = await events.seen(({ type }) => type === 'state');
  const { statusCode = 0, headers } = events.answer;
  answers.check('get', '/actuator/events', new Answer(statusCode, headers, Buffer.from(JSON.stringify(state))));

  await run(['post', '/kos/manifest', '/kos/manifest', jsonBody({ manifest: [`${web.url}/ko.zip`] })]);
  await run(['post', '/kos/manifest-list', '/kos/manifest-list', jsonBody([`${web.url}/manifest.json`])]);

  for (const step of fromAPage(
    steps.filter((each) => isSecured(each) && !['/actuator/info', '/actuator/audit'].includes(each[1])),
  ))
    await run(step);

  // More calls at once than may wait.
  await service.reload(code);
  for (const [template, path] of [
    ['/{naan}/{name}/{apiVersion}/{endpoint}', `/${NAAN}/code/1.0/run`],
    ['/{naan}/{name}/{endpoint}', `/${NAAN}/code/run`],
    ['/endpoints/{atId}/{endpoint}', `/endpoints/${code.id}/run`],
  ] as const) {
    await Promise.all(Array.from({ length: 8 }, () => run(['post', template, path, jsonBody({ wait: 60 })])));
  }
});

/** Activates all that it is asked to, and never answers a call. */
function silentRuntime(engine: string): Promise<Places> {
  const say =
    (value: object): Respond =>
    (request, response) =>
      request.resume().on('end', () => {
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
      });
  return servePlaces({
    '/info': say({ engine, status: 'up' }),
    '/endpoints': say({ status: 'Activated' }),
    [`/${NAAN}/far/1.0/run`]: () => undefined,
  });
}

test('answers about an external runtime that is silent, then gone, are as the document says', async () => {
  const deployment = { artifact: 'src/a.alg', engine: 'algol', function: 'main' };
  const far = ko({ naan: NAAN, name: 'far', endpoints: [{ path: '/run', deployment }], files: { 'src/a.alg': 'x' } });
  const callBoth = async (): Promise<void> => {
    for (const [path, at] of [
      ['/{naan}/{name}/{apiVersion}/{endpoint}', `/${NAAN}/far/1.0/run`],
      ['/{naan}/{name}/{endpoint}', `/${NAAN}/far/run`],
      ['/endpoints/{atId}/{endpoint}', `/endpoints/${far.id}/run`],
    ] as const)
      answers.check('post', path, await service.post(at, {}));
  };
  {
    await using runtime = await silentRuntime('algol');
    const registered = await service.post('/proxy/environments', { engine: 'algol', url: runtime.url });
    assert.equal(registered.status, 200);
    await service.serve(far);
    await callBoth();
  }
  await callBoth();
});

test('without a login, the secure profile answers as the document says', async () => {
  await using secured = await startService({
    profile: 'secure',
    args: ['--secure-execution', '--mcp', 'on'],
    env: { KGRID_USER: 'ann', KGRID_PASSWORD: 'a long password' },
    credentials: 'ann:a long password',
  });
  await secured.serve(code, files);
  const anonymous = sender(secured.url);
  for (const step of steps) {
    const [method, path, url, sent] = step;
    const answer = await anonymous(method.toUpperCase(), url, sent);
    assert.equal(answer.status === 401, isSecured(step) || executes(step), `${method} ${url}: ${answer.status}`);
    if (answer.status === 401) answers.check(method, path, answer);
  }
  answers.check('get', '/actuator/health', await anonymous('GET', '/actuator/health'));
});

test('every path has the methods of the document and no other, and answers OPTIONS', async () => {
  await service.serve(code, files);
  const urls = new Map(steps.map(([, path, url]) => [path, url]));
  for (const [path, item] of Object.entries(document.paths)) {
    const url = urls.get(path) ?? '';
    assert.equal((await service.send('OPTIONS', url)).status, 204, path);
    // Which methods an endpoint has depends on its engine.
    if (path.startsWith('/{naan}')) continue;
    // What looks like the id of an endpoint may be an `@id`, which POST runs.
    if (path.startsWith('/endpoints/{naan}')) continue;
    // A resolution by ARK goes through routes of the shelf, which can more.
    if (path.startsWith('/kos/ark:')) continue;
    const refused = await service.send('PATCH', url);
    assert.equal(refused.status, 405, path);
    const methods = operationsOf(item).map(([method]) => method.toUpperCase());
    assert.deepEqual(String(refused.headers['allow']).split(', ').sort(), methods.sort(), path);
  }
});

test('the activators of a fleet are told as the document says', async () => {
  await using fleet = await startFleet(1);
  const answer = await fleet.node(0).get('/actuator/fleet');
  assert.equal(answer.status, 200, answer.text);
  answers.check('get', '/actuator/fleet', answer);
  answers.check('head', '/actuator/fleet', await fleet.node(0).send('HEAD', '/actuator/fleet'));
  await fleet.database.run(`UPDATE kgrid.state SET doubt = 'as after a standby took over'`);
  const confirmed = await fleet.node(0).post('/actuator/fleet/confirm', {});
  answers.check('post', '/actuator/fleet/confirm', confirmed);
});

/** What takes a broken disk, a slow client, an issuer of tokens, an account or data of FHIR; other tests of the service make these. */
const ELSEWHERE =
  /^(getHealth|getLiveness|getReadiness) 503$|^execute\w* 408$|^(importKo|replaceMetadata|deleteKo|restoreKo) (500|507)$|^(?!execute)\w+ 503$|^(read|head)McpIssuers 200$|^\w*(Fhir\w*|Users?|Keys?|Password|Proven\w*) \d+$|^callTool 403$/;

test('every answer of the document was seen here, but for those that take what these tests have not', () => {
  const missing = answers.unseen().filter((each) => !ELSEWHERE.test(each));
  assert.deepEqual(missing, []);
  assert.ok(METHODS.length > 0);
});
