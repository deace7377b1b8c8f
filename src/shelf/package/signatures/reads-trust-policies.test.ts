import assert from 'node:assert/strict';
import { test } from 'node:test';
import { generateKeys, keyName, readPublicKey } from './keys.ts';
import { parseTrustPolicy, TrustPolicyMistake, type TrustPolicy } from './trust-policy.ts';

const KEY = generateKeys('ecdsa').publicPem;
const ROOT = Buffer.from('{"mediaType":"application/vnd.dev.sigstore.trustedroot+json;version=0.1"}');
const indented = KEY.trimEnd().replaceAll('\n', '\n          ');
const key = `key: |\n          ${indented}`;
const read = (text: string): TrustPolicy =>
  parseTrustPolicy(text, 'trust.yaml', (path) => {
    if (path !== 'root.json') throw new Error(`no file ${path}`);
    return ROOT;
  });

const GOOD = `mode: require
naans:
  cardiology:
    threshold: 2
    signers:
      - name: Lab
        ${key}
        validFrom: 2026-01-01
        validTo: 2027-01-01T00:00:00Z
        revoked: false
      - identity: { issuer: https://i.org, subject: a@i.org, trustedRoot: root.json }
        revoked: true
  '*': { signers: [{ identity: { issuer: i, subject: s, trustedRoot: root.json } }] }
`;

test('a policy has signers for each naan', () => {
  const { mode, naans } = read(GOOD);
  assert.equal(mode, 'require');
  assert.deepEqual([...naans.keys()], ['cardiology', '*']);
  const { threshold, signers = [] } = naans.get('cardiology') ?? {};
  assert.equal(threshold, 2);
  assert.deepEqual(
    signers.map(({ name, validFrom, validTo, revoked }) => ({ name, validFrom, validTo, revoked })),
    [
      { name: 'Lab', validFrom: new Date('2026-01-01'), validTo: new Date('2027-01-01'), revoked: undefined },
      { name: 'a@i.org by https://i.org', validFrom: undefined, validTo: undefined, revoked: new Date(0) },
    ],
  );
  assert.equal(naans.get('*')?.threshold, 1);
});

test('a policy may be JSON, and a key without a name has the name of its digest', () => {
  const { naans } = read(JSON.stringify({ mode: 'warn', naans: { a: { signers: [{ key: KEY }] } } }));
  assert.equal(naans.get('a')?.signers[0]?.name, keyName(readPublicKey(KEY)));
});

test('a mode is read as it is written', () => assert.equal(read('mode: off\nnaans: {}').mode, 'off'));

const one = (signer: string, more = ''): string => `mode: warn\nnaans:\n  a:\n    signers:\n      - ${signer}\n${more}`;
const MISTAKES: readonly [string, string, RegExp][] = [
  ['no YAML', 'mode: "off', /line 1/],
  ['no map', '- a', /:1: the policy must be a map/],
  ['a mode that is none', 'mode: strict\nnaans: {}', /:1: mode must be one of off, warn, require/],
  ['no naans', 'mode: off', /naans must be a map/],
  ['a naan twice', `${one(key)}  a: {}\n`, /:\d+: a stands there twice/],
  ['an unknown key', one(`revokd: true\n        ${key}`), /:5: revokd is no key of a signer/],
  ['no signers', 'mode: off\nnaans:\n  a:\n    signers: []', /:4: signers must be a list/],
  ['neither key nor identity', one('name: x'), /:5: a signer has either a key or an identity/],
  ['a key that is none', one('key: hello'), /:5: key: it holds no public key/],
  ['a private key', one(`key: ${JSON.stringify(generateKeys('ecdsa').privatePem)}`), /:5: key: it holds no public key/],
  ['the same signer twice', one(key, `      - ${key}\n`), /the signer sha256:\w+ stands there twice/],
  ['an incomplete identity', one('identity: { issuer: i, subject: s }'), /:5: an identity has an issuer/],
  [
    'a root that is not there',
    one('identity: { issuer: i, subject: s, trustedRoot: x }'),
    /:5: trustedRoot: no file x/,
  ],
  ['a day that is none', one(`validTo: soon\n        ${key}`), /:5: a time is written/],
  [
    'an end before the beginning',
    one(`validTo: 2026-01-01\n        validFrom: 2026-01-02\n        ${key}`),
    /:5: validTo is before/,
  ],
  ['a threshold that nobody can reach', one(key, '    threshold: 2\n'), /threshold must be a number from 1 to 1/],
];
for (const [what, text, said] of MISTAKES) {
  test(`a mistake is told with its line: ${what}`, () => {
    assert.throws(
      () => read(text),
      (thrown) =>
        thrown instanceof TrustPolicyMistake && said.test(thrown.message) && /trust\.yaml/.test(thrown.message),
    );
  });
}
