import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pino } from 'pino';
import { configOf } from '../config/support/config-of.ts';
import { createFastify } from './create-fastify.ts';
import { RequestIds } from './request-gate.ts';

test('no request makes a log of its own, which would cost more the more there are: also none that the router refuses', async () => {
  const children: object[] = [];
  const log = pino({ level: 'silent', onChild: (child) => void children.push(child) });
  await using app = createFastify(configOf([], {}), new RequestIds(), log, new Set());
  app.get('/there/:name', (_request, reply) => reply.send('here'));
  await app.ready();
  children.length = 0;
  const asked = { '/there/x': 200, '/nothing': 404, '/%zz': 400, [`/there/${'x'.repeat(2000)}`]: 414 };
  for (const [url, status] of Object.entries(asked)) assert.equal((await app.inject({ url })).statusCode, status, url);
  assert.equal(children.length, 0);
});
