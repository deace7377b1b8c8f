import assert from 'node:assert/strict';
import Fastify from 'fastify';
import { test } from 'node:test';
import { sendError } from './errors.ts';
import { METHODS, Methods, declare } from './methods.ts';

const asked = async (method: string, url: string) => {
  const methods = new Methods();
  await using app = Fastify({ exposeHeadRoutes: false, rewriteUrl: methods.rewriteUrl });
  methods.install(app);
  app.setErrorHandler((error, request, reply) => sendError(request, reply, error));
  const handler = (): string => 'done';
  declare(app, '/both', { GET: { access: 'open', handler }, DELETE: { access: 'shelf-write', handler } });
  declare(app, '/acts', { GET: { access: 'activation', head: false, handler } });
  return await app.inject({ method: method, url });
};

test('a path answers the methods it has, and HEAD where GET only reads', async () => {
  for (const method of ['GET', 'HEAD', 'DELETE']) assert.equal((await asked(method, '/both')).statusCode, 200, method);
  assert.equal((await asked('GET', '/acts')).statusCode, 200);
});

test('every other method that there is gets 405 with those it has', async () => {
  for (const method of METHODS) {
    for (const [url, allow] of [
      ['/both', ['GET', 'HEAD', 'DELETE']],
      ['/acts', ['GET']],
    ] as const) {
      if ((allow as readonly string[]).includes(method)) continue;
      const answer = await asked(method, url);
      assert.equal(answer.statusCode, 405, `${method} ${url}`);
      assert.equal(answer.headers['allow'], allow.join(', '));
      const detail = `${method} is not supported on ${url}; allowed: ${allow.join(', ')}`;
      if (method !== 'HEAD') assert.equal(answer.json<{ Detail: string }>().Detail, detail);
    }
  }
  assert.ok(METHODS.length > 20, 'the rare ones too');
});

test('what no path has costs each path one route', async () => {
  const methods = new Methods();
  await using app = Fastify({ exposeHeadRoutes: false, rewriteUrl: methods.rewriteUrl });
  methods.install(app);
  const routed: string[] = [];
  app.addHook('onRoute', ({ method }) => void routed.push(...[method].flat()));
  declare(app, '/reads', { GET: { access: 'open', handler: () => 'done' } });
  assert.deepEqual(routed, ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH']);
});

test('what comes before and after the router sees the method that was sent', async () => {
  const methods = new Methods();
  await using app = Fastify({ exposeHeadRoutes: false, rewriteUrl: methods.rewriteUrl });
  methods.install(app);
  const seen: string[] = [];
  app.addHook('onRequest', (request, _reply, done) => done(void seen.push(request.method)));
  app.addHook('onResponse', (request, _reply, done) => done(void seen.push(request.method)));
  declare(app, '/reads', { GET: { access: 'open', handler: () => 'done' } });
  for (const url of ['/reads', '/nothing']) await app.inject({ method: 'PROPFIND', url });
  assert.deepEqual(seen, Array(4).fill('PROPFIND'));
});
