import assert from 'node:assert/strict';
import { test } from 'node:test';
import { format, inspect } from 'node:util';
import pino from 'pino';
import { Secret } from './secret.ts';

const secret = new Secret('open sesame');

test('a secret gives its value to reveal', () => {
  assert.equal(secret.reveal(), 'open sesame');
});

test('a secret prints as [secret], however it is printed', () => {
  assert.equal(String(secret), '[secret]');
  assert.equal(JSON.stringify({ secret }), '{"secret":"[secret]"}');
  let logged = '';
  pino({}, { write: (line: string) => (logged = line) }).info(
    { secret, nested: { secret } },
    'told %s %o',
    secret,
    secret,
  );
  const prints = [inspect(secret, { showHidden: true, depth: 9 }), format('%s %o %j', secret, secret, secret), logged];
  for (const print of prints) {
    assert.match(print, /\[secret\]/);
    assert.doesNotMatch(print, /sesame/);
  }
  assert.deepEqual(Object.values(secret), []);
});
