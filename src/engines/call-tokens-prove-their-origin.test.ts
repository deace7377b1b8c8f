import assert from 'node:assert/strict';
import { createHmac, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { uptime } from '../lib/time.ts';
import { CallTokens } from './call-token.ts';

const key = randomBytes(32);
const tokens = new CallTokens(key);

/** A token as another activator might make it. */
function made(payload: unknown, { by = key, version = 'v1' } = {}): string {
  const text = `${version}.${Buffer.from(JSON.stringify(payload)).toString('base64url')}`;
  return `${text}.${createHmac('sha256', by).update(text).digest('base64url')}`;
}

test('a token gives back the depth and the deadline of its call, here and at an activator with the same key', () => {
  const deadline = uptime() + 30_000;
  const token = tokens.give({ depth: 3, deadline });
  for (const reader of [tokens, new CallTokens(key)]) {
    const origin = reader.read(token);
    assert.equal(origin?.depth, 3);
    assert.ok(Math.abs((origin?.deadline ?? 0) - deadline) <= 2);
  }
  assert.equal(new CallTokens().read(token), undefined);
  assert.notEqual(tokens.give({ depth: 3, deadline }), token, 'each call has an id of its own');
});

test('a token is three parts, whose payload names the call, its depth, its deadline and the activator', () => {
  const before = Date.now();
  const [version, payload = '', signature = ''] = tokens.give({ depth: 1, deadline: uptime() + 1000 }).split('.');
  const after = Date.now();
  assert.equal(version, 'v1');
  const said = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Record<string, unknown>;
  assert.deepEqual(Object.keys(said), ['id', 'depth', 'deadline', 'node']);
  const given = Number(said['deadline']) - 1000;
  assert.ok(before - 2 <= given && given <= after + 2, `${before} <= ${given} <= ${after}`);
  assert.equal(signature, createHmac('sha256', key).update(`v1.${payload}`).digest('base64url'));
});

test('what was changed anywhere is no token', () => {
  const token = tokens.give({ depth: 1, deadline: uptime() + 60_000 });
  for (let at = 0; at < token.length; at++) {
    const other = token[at] === 'A' ? 'B' : 'A';
    assert.equal(tokens.read(token.slice(0, at) + other + token.slice(at + 1)), undefined, `at ${at}`);
    assert.equal(tokens.read(token.slice(0, at)), undefined, `cut at ${at}`);
  }
  for (const wrong of [
    `${token}=`,
    ` ${token}`,
    `${token}.x`,
    '',
    '.',
    '..',
    'v1..',
    'v1.é.é',
    'v1.' + 'x'.repeat(20_000),
  ])
    assert.equal(tokens.read(wrong), undefined, wrong.slice(0, 20));
  assert.equal(tokens.read([token, token]), undefined);
  assert.equal(tokens.read(undefined), undefined);
});

test('what is signed and yet no origin of a call counts as no token', () => {
  const deadline = Date.now() + 60_000;
  assert.deepEqual(tokens.read(made({ depth: 2, deadline, more: 1 }))?.depth, 2);
  const wrong: unknown[] = [
    { depth: 1, deadline: Date.now() - 1 },
    { depth: -1, deadline },
    { depth: 1.5, deadline },
    { depth: '1', deadline },
    { depth: 1 },
    { deadline },
    { depth: 1, deadline: 1e300 },
    { depth: 1, deadline: null },
    null,
    7,
    'text',
    [],
    { depth: 1, deadline, fill: 'x'.repeat(1024) },
  ];
  for (const payload of wrong)
    assert.equal(tokens.read(made(payload)), undefined, JSON.stringify(payload)?.slice(0, 60));
  assert.equal(tokens.read(made({ depth: 1, deadline }, { version: 'v2' })), undefined);
  assert.equal(tokens.read(made({ depth: 1, deadline }, { by: randomBytes(32) })), undefined);
});
