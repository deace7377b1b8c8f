import assert from 'node:assert/strict';
import Fastify from 'fastify';
import { test } from 'node:test';
import pino from 'pino';
import { packageDamaged } from '../lib/errors.ts';
import { sendError } from './errors.ts';

const SECRET = '/srv/shelf/secret.txt';

/** What a caller and the log hear of what a route throws, below `/kos` and elsewhere. */
async function outcomesOf(thrown: Error): Promise<{ text: string; status: number; line: Record<string, unknown> }[]> {
  const lines: Record<string, unknown>[] = [];
  const log = pino({ base: null, level: 'error' }, { write: (line: string) => lines.push(JSON.parse(line) as never) });
  await using app = Fastify({ loggerInstance: log });
  app.setErrorHandler((error, request, reply) => sendError(request, reply, error));
  for (const path of ['/kos/a', '/other']) app.get(path, () => Promise.reject(thrown));
  const answers = [await app.inject('/kos/a'), await app.inject('/other')];
  return answers.map(({ body, statusCode }, i) => ({ text: body, status: statusCode, line: lines[i] ?? {} }));
}

test('an error that nobody expected tells the caller only where the log has its cause', async () => {
  const error = Object.assign(new Error(`EIO: i/o error, read '${SECRET}'`), { code: 'EIO' });
  for (const { text, status, line } of await outcomesOf(error)) {
    assert.equal(status, 500);
    const [, id = ''] = /its log has the cause under requestId ([\w-]+)/.exec(text) ?? [];
    assert.notEqual(id, '');
    assert.equal(line['requestId'], id);
    assert.match(JSON.stringify(line['err']), /i\/o error.*secret\.txt/);
    assert.doesNotMatch(text, /srv|secret|EIO|\.ts:|at /);
  }
});

test('an error of the service has its words for the caller, its cause for the log, under the id of the request', async () => {
  const error = packageDamaged('The file a.js is missing', { cause: new Error(`ENOENT, open '${SECRET}'`) });
  for (const { text, status, line } of await outcomesOf(error)) {
    assert.equal(status, 500);
    assert.match(text, /The file a\.js is missing/);
    assert.doesNotMatch(text, /srv|secret|ENOENT/);
    assert.equal(typeof line['requestId'], 'string');
    assert.match(JSON.stringify(line['err']), /ENOENT.*secret\.txt/);
  }
});
