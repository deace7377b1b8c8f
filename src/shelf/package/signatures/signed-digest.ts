/** Verifies a message signature where the digest of the message is known, and not its bytes. */
import type { KeyObject } from 'node:crypto';
import { p256, p384, p521 } from '@noble/curves/nist.js';
import { SignatureRefused } from './refused.ts';

const CURVES = { 'P-256': p256, 'P-384': p384, 'P-521': p521 };

/** Node verifies messages only. @throws SignatureRefused for keys that sign more than a digest. */
export function verifiesDigest(digest: Buffer, key: KeyObject, signature: Buffer): boolean {
  const { crv = '', x = '', y = '' } = key.asymmetricKeyType === 'ec' ? key.export({ format: 'jwk' }) : {};
  const curve = Object.entries(CURVES).find(([name]) => name === crv)?.[1];
  if (curve === undefined)
    throw new SignatureRefused('a signature by this kind of key needs the file itself, and not only its digest');
  const point = Buffer.concat([Buffer.of(4), Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')]);
  try {
    return curve.verify(signature, digest, point, { prehash: false, format: 'der', lowS: false });
  } catch {
    return false;
  }
}
