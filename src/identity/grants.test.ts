import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Grants, isGrant } from './grants.ts';
import { permissionsOf, ROLES } from './permissions.ts';

const HELLO = { naan: 'hello', name: 'welcome', version: 'v1.0' };

test('each role has all of the next one, and metrics stands alone', () => {
  const chain = ['operator', 'author', 'caller', 'reader'] as const;
  for (const [at, role] of chain.entries())
    for (const lower of chain.slice(at))
      for (const each of permissionsOf(lower)) assert.ok(permissionsOf(role).includes(each));
  assert.ok(permissionsOf('metrics').includes('metrics') && permissionsOf('operator').includes('metrics'));
  assert.ok(!permissionsOf('metrics').includes('read') && !permissionsOf('author').includes('metrics'));
  assert.equal(ROLES.length, chain.length + 1);
});

test('a grant counts on its place and below, and nowhere else', () => {
  for (const [grant, own, others] of [
    ['caller', [HELLO, { naan: 'x' }, {}], []],
    ['caller@hello', [HELLO, { naan: 'hello' }], [{}, { naan: 'hell' }, { naan: 'hello2', name: 'welcome' }]],
    [
      'caller@hello/welcome',
      [HELLO, { naan: 'hello', name: 'welcome' }],
      [{}, { naan: 'hello' }, { naan: 'hello', name: 'wel' }],
    ],
    ['caller@hello/welcome/v1.0', [HELLO], [{}, { naan: 'hello', name: 'welcome' }, { ...HELLO, version: 'v1' }]],
  ] as const) {
    const grants = Grants.of([grant]);
    for (const each of own) assert.ok(grants.allow('execution', each), `${grant} ${JSON.stringify(each)}`);
    for (const each of others) assert.ok(!grants.allow('execution', each), `${grant} ${JSON.stringify(each)}`);
    assert.ok(!grants.allow('shelf-write', HELLO) && grants.somewhere('execution') && !grants.somewhere('shelf-write'));
  }
});

test('what is no grant is refused, and gives nothing', () => {
  for (const text of [
    '',
    'root',
    'Operator',
    'caller@',
    'caller@a/b/c/d',
    'caller@..',
    'caller@a//b',
    'metrics@a',
    'caller@a b',
    '@a',
    'caller@a@b',
    'constructor',
  ]) {
    assert.ok(!isGrant(text), text);
    assert.ok(!Grants.of([text]).somewhere('read'), text);
  }
});

test('grants of two add up', () => {
  const both = Grants.of(['author@hello']).and(Grants.permitting(['reader'], ['info']));
  assert.ok(both.allow('shelf-write', HELLO) && both.everywhere('read') && both.everywhere('info'));
  assert.ok(!both.everywhere('execution') && !both.allow('shelf-write', { naan: 'x' }));
});
