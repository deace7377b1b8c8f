import assert from 'node:assert/strict';
import { test } from 'node:test';
import Fastify, { type FastifyInstance, type RouteOptions } from 'fastify';
import pino from 'pino';
import { CallTokens } from '../../engines/call-token.ts';
import { Identity } from '../../identity/identity.ts';
import type { AccessOptions } from './access.ts';
import { installAccess } from './install-access.ts';

const log = pino({ level: 'silent' });
const options: AccessOptions = {
  identity: new Identity({ profile: 'secure', anonymous: 'caller', tokens: new CallTokens(), log }),
  profile: 'secure',
  corsOrigins: [],
  loopbackOnly: true,
  publicHosts: [],
  log,
};
const handler = (): string => 'answered';

function createApp(): FastifyInstance {
  const app = Fastify();
  installAccess(app, options);
  return app;
}

test('a route that declares no access stops the start and is named', async () => {
  const app = createApp();
  assert.throws(() => app.get('/kos', handler), /GET \/kos declares no access/);
  assert.throws(
    () => app.route({ method: 'PUT', url: '/b', handler, config: { access: 'opne' } } as unknown as RouteOptions),
    /PUT \/b/,
  );

  app.register((plugin) => Promise.resolve().then(() => void plugin.delete('/inner', handler)), { prefix: '/outer' });
  await assert.rejects(async () => await app.ready(), /DELETE \/outer\/inner declares no access/);
});

test('the HEAD route that Fastify derives has the access of its GET', async () => {
  const app = createApp();
  app.get('/secret', { config: { access: 'info' } }, handler);
  app.get('/plain', { config: { access: 'public' } }, handler);
  assert.equal((await app.inject({ method: 'HEAD', url: '/secret' })).statusCode, 401);
  assert.equal((await app.inject({ method: 'HEAD', url: '/plain' })).statusCode, 200);
});

test('a route that was added before the access rules answers nobody', async () => {
  const app = Fastify();
  app.get('/early', handler);
  installAccess(app, options);
  const answer = await app.inject('/early');
  assert.equal(answer.statusCode, 500);
  assert.doesNotMatch(answer.body, /answered/);
});

test('what matches no route is 404 for everybody', async () => {
  assert.equal((await createApp().inject('/actuator/activation/nothing')).statusCode, 404);
});
