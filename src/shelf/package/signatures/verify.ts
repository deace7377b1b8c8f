/** Verifies one bundle against one signer. Nothing is fetched. */
import type { KeyObject } from 'node:crypto';
import type { Bundle } from '@sigstore/bundle';
import { HashAlgorithm, type TrustedRoot } from '@sigstore/protobuf-specs';
import { toSignedEntity, toTrustMaterial, Verifier, type SignedEntity, type TrustMaterial } from '@sigstore/verify';
import { checkLogEntries } from './log-entries.ts';
import { refusing, SignatureRefused } from './refused.ts';
import { verifiesDigest } from './signed-digest.ts';
import { readStatement, type Statement } from './statements.ts';
import { EMPTY_ROOT } from './trusted-root.ts';

/** The content that must have been signed. */
export interface Subject {
  /** sha256, lower-case hex. */
  readonly sha256: string;
  /** Absent where only the digest is known. */
  readonly bytes?: Buffer;
}

export type Signer =
  | {
      readonly kind: 'key';
      readonly key: KeyObject;
      /** Without it, entries of logs and timestamps in the bundle prove nothing and are not looked at. */
      readonly trustedRoot?: TrustedRoot;
    }
  | {
      readonly kind: 'identity';
      readonly issuer: string;
      readonly subject: string;
      readonly trustedRoot: TrustedRoot;
    };

export interface Verified {
  /** Absent where a message was signed. */
  readonly statement?: Statement;
  /** When the signature was made, where a trusted log or timestamp proves it: the earliest. */
  readonly time?: Date;
}

/** @throws SignatureRefused with the reason. */
export function verifyBundle(bundle: Bundle, subject: Subject, signer: Signer): Verified {
  const statement = checkSubject(bundle, subject);
  const root = signer.trustedRoot ?? EMPTY_ROOT;
  const material = refusing('the trusted root cannot be used', () => toTrustMaterial(root, keyFinder(signer)));
  const entity = refusing('the bundle cannot be read', () => entityOf(bundle, subject, signer));
  const isKey = signer.kind === 'key';
  const options = isKey ? { tlogThreshold: 0, timestampThreshold: 0 } : { tlogThreshold: 1, timestampThreshold: 1 };
  const { key, identity } = refusing('not verified', () => new Verifier(material, options).verify(entity));
  if (signer.kind === 'identity') requireIdentity(signer, identity);
  const times = timesOf(entity);
  refusing('not verified', () => checkLogEntries(entity.tlogEntries, key, times, material));
  const [time] = times.toSorted((a, b) => a.getTime() - b.getTime());
  return { ...(statement === undefined ? {} : { statement }), ...(time === undefined ? {} : { time }) };
}

/** The library never compares what was signed with what it should be. */
function checkSubject({ content }: Bundle, { sha256 }: Subject): Statement | undefined {
  if (content.$case === 'dsseEnvelope') {
    const statement = readStatement(content.dsseEnvelope.payloadType, content.dsseEnvelope.payload);
    if (!statement.subjects.includes(sha256)) throw new SignatureRefused('the bundle signs something else');
    return statement;
  }
  const { algorithm, digest } = content.messageSignature.messageDigest;
  if (algorithm !== HashAlgorithm.SHA2_256 || digest.toString('hex') !== sha256)
    throw new SignatureRefused('the bundle signs something else: its message digest is another');
  return undefined;
}

function entityOf(bundle: Bundle, { sha256, bytes }: Subject, signer: Signer): SignedEntity {
  const entity = toSignedEntity(bundle, bytes ?? Buffer.alloc(0));
  if ((signer.kind === 'key') !== (entity.key.$case === 'public-key'))
    throw new SignatureRefused(
      signer.kind === 'key'
        ? 'the bundle has a certificate: name its identity, not a key'
        : 'the bundle is signed by a key, and has no certificate with an identity',
    );
  if (bundle.content.$case === 'messageSignature' && bytes === undefined) {
    const { signature } = entity.signature;
    entity.signature.verifySignature = (key) => verifiesDigest(Buffer.from(sha256, 'hex'), key, signature);
  }
  const isProven = signer.kind === 'identity' || signer.trustedRoot !== undefined;
  return isProven ? entity : { ...entity, tlogEntries: [], timestamps: [] };
}

/** The verifier has checked all of these by now: timestamps, and the times that a log has signed. */
const timesOf = ({ timestamps }: SignedEntity): Date[] =>
  timestamps.flatMap((each) =>
    each.$case === 'timestamp-authority'
      ? [each.timestamp.signingTime]
      : each.tlogEntry.inclusionPromise === undefined
        ? []
        : [new Date(Number(each.tlogEntry.integratedTime) * 1000)],
  );

/** Exact: the library takes the expected subject as a pattern, where a dot is any character. */
function requireIdentity(
  { issuer, subject }: { readonly issuer: string; readonly subject: string },
  found: ReturnType<Verifier['verify']>['identity'],
): void {
  const its = { subject: found?.subjectAlternativeName, issuer: found?.extensions?.issuer };
  if (its.subject !== subject || its.issuer !== issuer)
    throw new SignatureRefused(
      `the signer is ${its.subject ?? 'nobody'} by ${its.issuer ?? 'no issuer'}, and not ${subject} by ${issuer}`,
    );
}

/** A hint is a name that the signer chose: the key is the one that the verifier was given. */
const keyFinder =
  (signer: Signer): TrustMaterial['publicKey'] =>
  () => {
    if (signer.kind !== 'key') throw new SignatureRefused('no key was given');
    return { publicKey: signer.key, validFor: () => true };
  };
