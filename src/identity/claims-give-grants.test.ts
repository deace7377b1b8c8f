import assert from 'node:assert/strict';
import { test } from 'node:test';
import { grantsOf, nameOf, parseClaimGrant } from './claims.ts';

const ISSUER = 'https://login.example';
const OTHER = 'https://partner.example';

function given(claims: Readonly<Record<string, unknown>>, rows: readonly string[], issuer = ISSUER): readonly string[] {
  const grants = rows.map((row) => parseClaimGrant(row) ?? assert.fail(row));
  return grantsOf(claims, issuer, { issuer: ISSUER, audience: 'a', grants }).texts;
}

test('scopes and claims give what the table says, also claims within claims', () => {
  const rows = ['scope:kgrid.write=author', 'groups:team a=caller@hello', 'realm_access.roles:ops=operator'];
  assert.deepEqual(given({ scope: 'x kgrid.write' }, rows), ['author']);
  assert.deepEqual(given({ scp: ['kgrid.write'], groups: ['team a', 'b'] }, rows), ['author', 'caller@hello']);
  assert.deepEqual(given({ realm_access: { roles: ['ops'] } }, rows), ['operator']);
  for (const claims of [
    {},
    { scope: 'kgrid.writes' },
    { groups: 'team' },
    { realm_access: 'ops' },
    { roles: ['ops'] },
    { groups: { 'team a': true } },
  ])
    assert.deepEqual(given(claims, rows), [], JSON.stringify(claims));
});

test('a row may count for one issuer alone', () => {
  const rows = [`${OTHER}/ groups:ops=caller`, 'groups:ops=reader'];
  assert.deepEqual(given({ groups: ['ops'] }, rows), ['reader']);
  assert.deepEqual(given({ groups: ['ops'] }, rows, OTHER), ['caller', 'reader']);
});

test('what is no row is refused', () => {
  for (const text of ['', 'scope', 'scope:a', 'scope:a=root', 'scope:=caller', ':a=caller'])
    assert.equal(parseClaimGrant(text), undefined, text);
});

test('a claim of choice names the caller', () => {
  assert.equal(nameOf({ sub: '1', email: 'ann@example.org' }, 'email'), 'ann@example.org');
  assert.equal(nameOf({ sub: '1' }, 'email'), '1');
  assert.equal(nameOf({}, 'email'), 'unnamed');
});
