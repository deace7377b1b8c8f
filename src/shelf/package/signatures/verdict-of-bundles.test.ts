import assert from 'node:assert/strict';
import { createPublicKey, hash, sign, type KeyObject } from 'node:crypto';
import { test } from 'node:test';
import { bundleToJSON, toMessageSignatureBundle } from '@sigstore/bundle';
import { bundleText, MAX_BUNDLE_BYTES } from './bundle-file.ts';
import { generateKeys, readPrivateKey } from './keys.ts';
import { signStatement } from './sign.ts';
import { examplesStatement, provenanceStatement } from './statements.ts';
import type { TrustedSigner, TrustPolicy } from './trust-policy.ts';
import { verdict, type NamedBundle, type Verdict } from './verdict.ts';

const SHA256 = hash('sha256', 'the listing');
const SIGNED = { ko: 'a/b/c', sha256: SHA256 };
const NOW = new Date('2026-06-01');
const keys = [0, 1, 2].map((at) => readPrivateKey(generateKeys(at === 1 ? 'ed25519' : 'ecdsa').privatePem));
const [first, second, third] = keys as [KeyObject, KeyObject, KeyObject];

const signerOf = (key: KeyObject, more: Partial<TrustedSigner> = {}): TrustedSigner => ({
  name: `key ${keys.indexOf(key)}`,
  signer: { kind: 'key', key: createPublicKey(key) },
  ...more,
});
const policyOf = (signers: TrustedSigner[], threshold = 1, mode: TrustPolicy['mode'] = 'require'): TrustPolicy => ({
  mode,
  naans: new Map([['a', { signers, threshold }]]),
});
const named = (text: string): NamedBundle => ({ name: 'x.sigstore.json', bytes: Buffer.from(text) });
const by = (key: KeyObject, statement = provenanceStatement(SIGNED, 'test')): NamedBundle =>
  named(bundleText(signStatement(statement, key)));
const judge = (bundles: NamedBundle[], policy = policyOf([signerOf(first)]), admitted = NOW): Verdict =>
  verdict({ naan: 'a', sha256: SHA256 }, bundles, policy, { admitted, now: NOW });

/** A bundle with one thing changed. */
function changed(change: (bundle: ReturnType<typeof partsOf>) => void): NamedBundle {
  const parts = partsOf(by(first));
  change(parts);
  return named(JSON.stringify(parts));
}
const partsOf = ({ bytes }: NamedBundle) =>
  JSON.parse(bytes.toString()) as {
    mediaType: string;
    verificationMaterial: Record<string, unknown>;
    dsseEnvelope: { payload: string; payloadType: string; signatures: { sig: string }[] };
  };

test('a package that enough trusted signers signed is accepted, by keys of both kinds', () => {
  const found = judge([by(first), by(second)], policyOf([signerOf(first), signerOf(second)], 2));
  assert.equal(found.decision, 'accept');
  assert.deepEqual(
    found.signatures.map(({ signer }) => signer),
    ['key 0', 'key 1'],
  );
  assert.deepEqual(found.signatures[0]?.time, NOW);
  assert.equal(found.signatures[0]?.isTimeProven, false);
});

test('a bundle that signs the listing as a message is accepted too', () => {
  const digest = Buffer.from(SHA256, 'hex');
  const signature = sign('sha256', Buffer.from('the listing'), first);
  const bundle = JSON.stringify(bundleToJSON(toMessageSignatureBundle({ digest, signature })));
  assert.equal(judge([named(bundle)]).decision, 'accept');
  const other = toMessageSignatureBundle({ digest, signature: sign('sha256', Buffer.from('another'), first) });
  assert.equal(judge([named(JSON.stringify(bundleToJSON(other)))]).decision, 'refuse');
});

const valid = (validFrom: string, validTo: string): TrustPolicy =>
  policyOf([signerOf(first, { validFrom: new Date(validFrom), validTo: new Date(validTo) })]);

const BROKEN: readonly [string, NamedBundle[], TrustPolicy | undefined, RegExp][] = [
  ['no bundle', [], undefined, /no signature/],
  ['a key that is not listed', [by(third)], undefined, /verification failed/],
  [
    'another package',
    [by(first, provenanceStatement({ ...SIGNED, sha256: hash('sha256', '') }, ''))],
    undefined,
    /signs something else/,
  ],
  ['only the worked examples', [by(first, examplesStatement(SIGNED, []))], undefined, /not who made the package/],
  ['an expired key', [by(first)], valid('2020-01-01', '2021-01-01'), /signed it at 2026-06-01.*after 2021/],
  ['a key that is not valid yet', [by(first)], valid('2027-01-01', '2028-01-01'), /before 2027/],
  ['a revoked key', [by(first)], policyOf([signerOf(first, { revoked: new Date('2026-05-31') })]), /revoked/],
  [
    'two signers where three are needed',
    [by(first), by(second)],
    policyOf(
      keys.map((key) => signerOf(key)),
      3,
    ),
    /2 of 3/,
  ],
  ['one signer twice', [by(first), by(first)], policyOf([signerOf(first), signerOf(second)], 2), /1 of 2/],
  ['a naan without signers', [by(first)], { mode: 'require', naans: new Map() }, /names no signer for a/],
  ['50 MB', [named(' '.repeat(50 * 1024 * 1024))], undefined, /52428800 bytes; one may have/],
  ['no JSON', [named('{')], undefined, /no Sigstore bundle/],
  [
    'an older format',
    [changed((bundle) => (bundle.mediaType = 'application/vnd.dev.sigstore.bundle+json;version=0.2'))],
    undefined,
    /older format .*0\.2: sign the package again/,
  ],
  [
    'a format that is not known',
    [changed((bundle) => (bundle.mediaType = 'application/vnd.dev.sigstore.bundle.v0.4+json'))],
    undefined,
    /unknown type/,
  ],
  [
    'a payload that is no statement',
    [changed(({ dsseEnvelope }) => (dsseEnvelope.payloadType = 'text/plain'))],
    undefined,
    /is text\/plain/,
  ],
  [
    'a statement of no type',
    [by(first, { ...provenanceStatement(SIGNED, ''), _type: undefined })],
    undefined,
    /not of type in-toto/,
  ],
  [
    'a statement that was changed',
    [
      changed(({ dsseEnvelope }) => {
        const statement = JSON.parse(Buffer.from(dsseEnvelope.payload, 'base64').toString()) as object;
        dsseEnvelope.payload = Buffer.from(JSON.stringify({ ...statement, predicate: {} })).toString('base64');
      }),
    ],
    undefined,
    /verification failed/,
  ],
  [
    'more log entries than anybody needs',
    [
      changed(({ verificationMaterial }) => {
        const rfc3161Timestamps = Array.from({ length: 33 }, () => ({ signedTimestamp: 'AAAA' }));
        verificationMaterial['timestampVerificationData'] = { rfc3161Timestamps };
      }),
    ],
    undefined,
    /more than 32/,
  ],
];
for (const [what, bundles, policy, reason] of BROKEN) {
  test(`refused under require, named under warn, not asked when off: ${what}`, () => {
    const found = judge(bundles, policy);
    assert.equal(found.decision, 'refuse');
    assert.match(found.reason ?? '', reason);
    const { naans } = policy ?? policyOf([signerOf(first)]);
    assert.equal(judge(bundles, { mode: 'warn', naans }).decision, 'warn');
    assert.equal(judge(bundles, { mode: 'off', naans }).decision, 'accept');
  });
}

test('a key that expired after the first admission stops nothing', () =>
  assert.equal(judge([by(first)], valid('2020-01-01', '2021-01-01'), new Date('2020-06-01')).decision, 'accept'));

test('a revocation in the future does not count yet', () =>
  assert.equal(
    judge([by(first)], policyOf([signerOf(first, { revoked: new Date('2026-06-02') })])).decision,
    'accept',
  ));

test('a broken bundle beside good ones is named, and stops nothing', () => {
  const found = judge([named('{'), by(first)]);
  assert.equal(found.decision, 'accept');
  assert.match(found.problems.join(), /no Sigstore bundle/);
});

test('the size is checked before the parser sees it', () => {
  const bundle = by(first).bytes.toString();
  const padded = (size: number): NamedBundle => named(bundle + ' '.repeat(size - bundle.length));
  assert.equal(judge([padded(MAX_BUNDLE_BYTES)]).decision, 'accept');
  assert.equal(judge([padded(MAX_BUNDLE_BYTES + 1)]).decision, 'refuse');
});
