/** Signs statements with a key that the signer keeps; asks nobody. */
import { createPublicKey, sign as signBytes, type KeyObject } from 'node:crypto';
import { toDSSEBundle, type Bundle } from '@sigstore/bundle';
import { dsse } from '@sigstore/core';
import { keyName } from './keys.ts';
import { PAYLOAD_TYPE } from './statements.ts';

/**
 * Returns a bundle v0.3 with a DSSE envelope.
 * It needs no more of `@sigstore/sign`, which brings the clients of services that would be asked over the network.
 */
export function signStatement(statement: object, key: KeyObject): Bundle {
  const payload = Buffer.from(JSON.stringify(statement));
  const digest = key.asymmetricKeyType === 'ed25519' ? null : 'sha256';
  return toDSSEBundle({
    artifact: payload,
    artifactType: PAYLOAD_TYPE,
    signature: signBytes(digest, dsse.preAuthEncoding(PAYLOAD_TYPE, payload), key),
    keyHint: keyName(createPublicKey(key)),
  });
}
