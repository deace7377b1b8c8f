import assert from 'node:assert/strict';
import { createPublicKey, hash, sign, type KeyObject } from 'node:crypto';
import { test } from 'node:test';
import { bundleToJSON } from '@sigstore/bundle';
import { parseBundle } from './bundle-file.ts';
import { derOf, generateKeys, readPrivateKey } from './keys.ts';
import { SignatureRefused } from './refused.ts';
import { signStatement } from './sign.ts';
import { provenanceStatement } from './statements.ts';
import { parseTrustedRoot } from './trusted-root.ts';
import { verifyBundle, type Verified } from './verify.ts';

const SHA256 = hash('sha256', 'the listing');
const newKey = (): KeyObject => readPrivateKey(generateKeys('ecdsa').privatePem);
const [signer, other, log] = [newKey(), newKey(), newKey()];
const base64 = (bytes: string | Buffer): string => Buffer.from(bytes).toString('base64');
const logKey = derOf(createPublicKey(log));
const LOG_ID = hash('sha256', logKey, 'buffer');

interface Wrong {
  /** Whose signature the log has recorded. */
  readonly recorded?: KeyObject;
  readonly signature?: string;
  readonly rootHash?: string;
  readonly treeSize?: string;
  readonly checkpointKey?: KeyObject;
  readonly promiseKey?: KeyObject;
  readonly validFor?: object;
  readonly mediaType?: string;
}

/** A package signed by a key, with the entry of a log that holds nothing else. */
function verify(wrong: Wrong = {}): Verified {
  const bundle = signStatement(provenanceStatement({ ko: 'a/b/c', sha256: SHA256 }, ''), signer);
  if (bundle.content.$case !== 'dsseEnvelope') throw new Error('no envelope');
  const { payload, signatures } = bundle.content.dsseEnvelope;
  const pem = createPublicKey(wrong.recorded ?? signer).export({ type: 'spki', format: 'pem' });
  const body = JSON.stringify({
    apiVersion: '0.0.1',
    kind: 'dsse',
    spec: {
      payloadHash: { algorithm: 'sha256', value: hash('sha256', payload) },
      signatures: [{ signature: wrong.signature ?? base64(signatures[0]?.sig ?? ''), verifier: base64(pem) }],
    },
  });
  const root = base64(hash('sha256', Buffer.concat([Buffer.of(0), Buffer.from(body)]), 'buffer'));
  const note = `log.test\n1\n${root}\n`;
  const noted = Buffer.concat([LOG_ID.subarray(0, 4), sign('sha256', Buffer.from(note), wrong.checkpointKey ?? log)]);
  const integratedTime = 1_767_225_600;
  const promised = `{"body":"${base64(body)}","integratedTime":${integratedTime},"logID":"${LOG_ID.toString('hex')}","logIndex":0}`;
  const json = bundleToJSON(bundle) as unknown as { verificationMaterial: Record<string, unknown> };
  json.verificationMaterial['tlogEntries'] = [
    {
      logIndex: '0',
      logId: { keyId: base64(LOG_ID) },
      kindVersion: { kind: 'dsse', version: '0.0.1' },
      integratedTime: String(integratedTime),
      inclusionPromise: {
        signedEntryTimestamp: base64(sign('sha256', Buffer.from(promised), wrong.promiseKey ?? log)),
      },
      inclusionProof: {
        logIndex: '0',
        rootHash: wrong.rootHash ?? root,
        treeSize: wrong.treeSize ?? '1',
        hashes: [],
        checkpoint: { envelope: `${note}\n\u2014 log.test ${base64(noted)}\n` },
      },
      canonicalizedBody: base64(body),
    },
  ];
  const trusted = {
    mediaType: wrong.mediaType ?? 'application/vnd.dev.sigstore.trustedroot+json;version=0.1',
    tlogs: [
      {
        baseUrl: 'https://log.test',
        publicKey: {
          rawBytes: base64(logKey),
          keyDetails: 'PKIX_ECDSA_P256_SHA_256',
          validFor: wrong.validFor ?? { start: '2025-01-01T00:00:00Z', end: '2026-01-01T00:00:00Z' },
        },
        logId: { keyId: base64(LOG_ID) },
      },
    ],
  };
  const trustedRoot = parseTrustedRoot(Buffer.from(JSON.stringify(trusted)));
  const key = { kind: 'key', key: createPublicKey(signer), trustedRoot } as const;
  return verifyBundle(parseBundle(Buffer.from(JSON.stringify(json))), { sha256: SHA256 }, key);
}

test('the time of a signature is what the log has signed, up to the last second of its key', () =>
  assert.deepEqual(verify().time, new Date('2026-01-01')));

const WRONG: readonly [string, Wrong, RegExp][] = [
  ['the log recorded another key', { recorded: other }, /by another key/],
  ['the log recorded another signature', { signature: 'AAAA' }, /signature mismatch/],
  ['the proof claims another root', { rootHash: base64(Buffer.alloc(32)) }, /not about the tree/],
  ['the proof claims another size', { treeSize: '2' }, /not about the tree/],
  ['the checkpoint is signed by another key', { checkpointKey: other }, /checkpoint signature/],
  ['the promise is signed by another key', { promiseKey: other }, /inclusion promise/],
  ['the key of the log was not in use', { validFor: { start: '2026-01-02T00:00:00Z' } }, /inclusion promise/],
  ['the root does not say from when the key is valid', { validFor: {} }, /from when it is valid/],
  ['the root is something else', { mediaType: 'text/plain' }, /no trusted root/],
];
for (const [what, wrong, reason] of WRONG) {
  test(`not verified: ${what}`, () => {
    assert.throws(
      () => verify(wrong),
      (thrown) => thrown instanceof SignatureRefused && reason.test(thrown.message),
    );
  });
}
