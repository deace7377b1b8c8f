/** Keys that a signer keeps: ECDSA P-256 or Ed25519, as PEM. */
import { createPrivateKey, createPublicKey, generateKeyPairSync, hash, type KeyObject } from 'node:crypto';
import { refusing, SignatureRefused } from './refused.ts';

export type KeyKind = 'ecdsa' | 'ed25519';

export interface KeyPair {
  /** PKCS #8. */
  readonly privatePem: string;
  /** SubjectPublicKeyInfo. */
  readonly publicPem: string;
}

export function generateKeys(kind: KeyKind): KeyPair {
  const { privateKey, publicKey } =
    kind === 'ed25519' ? generateKeyPairSync('ed25519') : generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return {
    privatePem: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    publicPem: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
  };
}

/** @throws SignatureRefused. */
export function readPrivateKey(pem: string): KeyObject {
  const key = refusing('it holds no private key in PEM without a passphrase', () => createPrivateKey(pem));
  if (!isSupported(key)) throw new SignatureRefused('the key is neither ECDSA P-256 nor Ed25519');
  return key;
}

/** @throws SignatureRefused. */
export function readPublicKey(pem: string): KeyObject {
  // A private key would be read too, and its owner would have handed it out.
  if (!pem.includes('PUBLIC KEY-----')) throw new SignatureRefused('it holds no public key in PEM');
  return refusing('it holds no public key in PEM', () => createPublicKey(pem));
}

const isSupported = ({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): boolean =>
  asymmetricKeyType === 'ed25519' || (asymmetricKeyType === 'ec' && asymmetricKeyDetails?.namedCurve === 'prime256v1');

export const derOf = (key: KeyObject): Buffer => key.export({ type: 'spki', format: 'der' });

/** Names a public key: `sha256:` and the digest of its DER form, as `openssl pkey -pubin -outform DER | sha256sum` computes it. */
export const keyName = (key: KeyObject): string => `sha256:${hash('sha256', derOf(key))}`;
