/** What the library does not compare in the entries of transparency logs. */
import { createPublicKey, X509Certificate, type KeyObject } from 'node:crypto';
import type { TransparencyLogEntry } from '@sigstore/bundle';
import type { TrustMaterial } from '@sigstore/verify';
import { derOf } from './keys.ts';
import { refusing, SignatureRefused } from './refused.ts';

/** @throws SignatureRefused. */
export function checkLogEntries(
  entries: readonly TransparencyLogEntry[],
  key: KeyObject,
  times: readonly Date[],
  { tlogs }: TrustMaterial,
): void {
  for (const entry of entries) {
    checkProof(entry);
    requireSameKey(entry, key);
    requireLogInUse(entry, times, tlogs);
  }
}

/** The library computes the root of the checkpoint, and never reads the root and size that the proof claims. */
function checkProof({ inclusionProof }: TransparencyLogEntry): void {
  if (inclusionProof === undefined) return;
  const [, size = '', root = ''] = (inclusionProof.checkpoint?.envelope ?? '').split('\n');
  const isSame =
    inclusionProof.treeSize === size &&
    (inclusionProof.rootHash.length === 0 || inclusionProof.rootHash.equals(Buffer.from(root, 'base64')));
  if (!isSame) throw new SignatureRefused('the inclusion proof is not about the tree of its checkpoint');
}

/** The library compares signature and digest with the entry: the log may have recorded another signer for them. */
function requireSameKey({ canonicalizedBody }: TransparencyLogEntry, key: KeyObject): void {
  const body = refusing('a log entry is not JSON', () => JSON.parse(canonicalizedBody.toString('utf8')) as unknown);
  const keys = keysIn(body);
  if (keys.length === 0) throw new SignatureRefused('a log entry names no key');
  if (!keys.every((each) => derOf(each).equals(derOf(key))))
    throw new SignatureRefused('the log entry is about a signature by another key');
}

/** A proof has no time of its own, so that the library takes a key of the log that was not in use then. */
function requireLogInUse(entry: TransparencyLogEntry, times: readonly Date[], tlogs: TrustMaterial['tlogs']): void {
  const isInUse = tlogs.some(
    ({ logID, validFor }) =>
      logID.equals(entry.logId.keyId) && times.every((time) => validFor.start <= time && time <= validFor.end),
  );
  if (!isInUse) throw new SignatureRefused('the key of the log was not in use when the signature was made');
}

/** Where the kinds of entries keep certificate or key: as PEM in base64, once or twice, or as DER in base64. */
const PLACES: readonly (readonly (string | number)[])[] = [
  ['spec', 'signature', 'publicKey', 'content'],
  ['spec', 'signatures', 0, 'verifier'],
  ['spec', 'content', 'envelope', 'signatures', 0, 'publicKey'],
  ...['hashedRekordV002', 'dsseV002'].flatMap((kind) =>
    [
      ['signature', 'verifier'],
      ['signatures', 0, 'verifier'],
    ].flatMap((path) =>
      ['x509Certificate', 'publicKey'].map((what) => ['spec', kind, ...path, what, 'rawBytes'] as const),
    ),
  ),
];

function keysIn(body: unknown): KeyObject[] {
  const at = (path: readonly (string | number)[]): unknown =>
    path.reduce<unknown>((value, part) => (value as Record<string | number, unknown> | null | undefined)?.[part], body);
  return PLACES.map(at)
    .filter((value) => typeof value === 'string')
    .map(keyFrom);
}

function keyFrom(base64: string): KeyObject {
  return refusing('a log entry holds no key that can be read', () => {
    let bytes = Buffer.from(base64, 'base64');
    if (bytes.toString('latin1').startsWith('LS0t')) bytes = Buffer.from(bytes.toString('latin1'), 'base64');
    if (bytes.toString('latin1').includes('-----BEGIN PUBLIC KEY')) return createPublicKey(bytes);
    try {
      return new X509Certificate(bytes).publicKey;
    } catch {
      return createPublicKey({ key: bytes, format: 'der', type: 'spki' });
    }
  });
}
