import assert from 'node:assert/strict';
import { METHODS } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import type { FastifyInstance } from 'fastify';
import { ANONYMOUS } from '../../src/identity/principal.ts';
import { notAuthenticated } from '../../src/lib/errors.ts';
import { createAccessApp, PROTECTED, WITH_BASIC, type AccessApp } from './access-app.ts';
import { forAll, rawRequest, type RawRequest } from './raw-request.ts';
import { OVERRIDES, pathOverrides, spellingsOf } from './spellings.ts';

/** Sends everything to the service; `handled` of it then tells whether anything got through. */
async function attack(service: AccessApp, requests: readonly RawRequest[]): Promise<string[]> {
  await service.app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = service.app.server.address() as AddressInfo;
  const answers: string[] = [];
  await forAll(requests, async (request) => {
    const { status } = await rawRequest(port, request);
    answers.push(`${status} ${request.method} ${request.target}`);
  });
  await service.app.close();
  return answers;
}

const SPELLED: RawRequest[] = PROTECTED.flatMap(({ method, path }) =>
  spellingsOf(path).flatMap((target) =>
    (method === 'GET' ? ['GET', 'HEAD'] : [method]).map((each) => ({ method: each, target })),
  ),
);
const OVERRIDDEN: RawRequest[] = PROTECTED.flatMap(({ method, path }) => [
  ...OVERRIDES.flatMap((headers) => ['GET', 'POST'].map((each) => ({ method: each, target: path, headers }))),
  ...pathOverrides(path).map((headers) => ({ method, target: '/nothing', headers })),
]);
const OTHER_METHODS: RawRequest[] = PROTECTED.flatMap(({ path }) =>
  // CONNECT is no request for a resource, and Node hands it to nobody.
  METHODS.filter((method) => method !== 'CONNECT').map((method) => ({ method, target: path })),
);

test('no spelling, method or header leads past the login', async () => {
  const service = createAccessApp(WITH_BASIC);
  const answers = await attack(service, [...SPELLED, ...OVERRIDDEN, ...OTHER_METHODS]);
  assert.equal(service.handled, 0);
  // Spellings that this service takes for the protected route itself must be among them, or nothing was tried.
  assert.ok(answers.includes('401 GET /actuator/%61ctivation/reload'), 'a letter in percent form');
  assert.ok(answers.includes('401 GET http://evil.example/actuator/activation/reload'), 'absolute form');
});

test('the attack succeeds against a guard that looks at the text of the URL', async () => {
  const service = createAccessApp({}, { install: installGuardByPrefix });
  await attack(service, SPELLED);
  assert.ok(service.handled > 10, `${service.handled} requests got through`);
});

function installGuardByPrefix(app: FastifyInstance): void {
  app.decorateRequest('principal');
  app.addHook('onRequest', (request, _reply, done) => {
    request.principal = ANONYMOUS;
    const guarded = PROTECTED.some(({ method, path }) => request.method === method && request.url.startsWith(path));
    done(guarded ? notAuthenticated('no') : undefined);
  });
}
