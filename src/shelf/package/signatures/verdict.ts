/** Whether a package is trusted: pure, so that import, start and a changed policy ask the same question. */
import { messageOf } from '../../../lib/errors.ts';
import { parseBundle, requireLatest } from './bundle-file.ts';
import { SignatureRefused } from './refused.ts';
import { PROVENANCE } from './statements.ts';
import type { NaanTrust, TrustedSigner, TrustPolicy } from './trust-policy.ts';
import { verifyBundle, type Verified } from './verify.ts';

/** More are not looked at: each costs signature checks for each signer. */
const MAX_BUNDLES = 16;

export interface SignedPackage {
  readonly naan: string;
  /** Of its listing, lower-case hex. */
  readonly sha256: string;
}

export interface NamedBundle {
  readonly name: string;
  readonly bytes: Buffer;
}

export interface Times {
  /** When the store first recorded the package. It stands for the time of signatures that prove none. */
  readonly admitted: Date;
  readonly now: Date;
}

export interface CountedSignature {
  readonly signer: string;
  readonly bundle: string;
  readonly time: Date;
  /** False where the time is that of the admission. */
  readonly isTimeProven: boolean;
}

export interface Verdict {
  /** `accept` without `reason` where enough trusted signers signed, or nobody asks. */
  readonly decision: 'accept' | 'warn' | 'refuse';
  readonly signatures: readonly CountedSignature[];
  /** Why it is not trusted. */
  readonly reason?: string;
  /** What is wrong with single bundles, for people. */
  readonly problems: readonly string[];
}

export function verdict(
  { naan, sha256 }: SignedPackage,
  bundles: readonly NamedBundle[],
  { mode, naans }: TrustPolicy,
  times: Times,
): Verdict {
  if (mode === 'off') return { decision: 'accept', signatures: [], problems: [] };
  const trust = naans.get(naan) ?? naans.get('*');
  const decision = mode === 'warn' ? 'warn' : 'refuse';
  if (trust === undefined)
    return { decision, signatures: [], problems: [], reason: `the trust policy names no signer for ${naan}` };
  const counted = new Map<TrustedSigner, CountedSignature>();
  const problems: string[] = [];
  for (const bundle of bundles.slice(0, MAX_BUNDLES)) {
    try {
      const { signer, ...signature } = countedSignature(bundle, sha256, trust, times);
      if (!counted.has(signer)) counted.set(signer, { signer: signer.name, ...signature });
    } catch (thrown) {
      problems.push(`${bundle.name}: ${messageOf(thrown)}`);
    }
  }
  const signatures = [...counted.values()];
  if (signatures.length >= trust.threshold) return { decision: 'accept', signatures, problems };
  const has =
    bundles.length === 0 ? 'it has no signature' : `${signatures.length} of ${trust.threshold} signatures count`;
  return { decision, signatures, problems, reason: [has, ...problems].join('; ') };
}

/** @throws SignatureRefused with the reason that says most. */
function countedSignature(
  { name, bytes }: NamedBundle,
  sha256: string,
  { signers }: NaanTrust,
  times: Times,
): Omit<CountedSignature, 'signer'> & { signer: TrustedSigner } {
  const bundle = parseBundle(bytes);
  requireLatest(bundle);
  let reason: unknown = new SignatureRefused('nobody signed it');
  for (const signer of signers) {
    let verified: Verified;
    try {
      verified = verifyBundle(bundle, { sha256 }, signer.signer);
    } catch (thrown) {
      reason = thrown;
      continue;
    }
    // The worked examples are signed by the same key: a statement about them says nothing of who made the package.
    if (verified.statement !== undefined && verified.statement.predicateType !== PROVENANCE)
      throw new SignatureRefused(`it states ${verified.statement.predicateType}, and not who made the package`);
    const time = verified.time ?? times.admitted;
    requireInTime(signer, time, times.now);
    return { signer, bundle: name, time, isTimeProven: verified.time !== undefined };
  }
  throw reason;
}

/** Validity is compared with the time of the signature: a key that expires stops nobody's care. */
function requireInTime({ name, validFrom, validTo, revoked }: TrustedSigner, time: Date, now: Date): void {
  if (revoked !== undefined && revoked <= now) throw new SignatureRefused(`the signer ${name} is revoked`);
  const when = time.toISOString();
  if (validFrom !== undefined && time < validFrom)
    throw new SignatureRefused(`${name} signed it at ${when}, before ${validFrom.toISOString()}`);
  if (validTo !== undefined && time > validTo)
    throw new SignatureRefused(`${name} signed it at ${when}, after ${validTo.toISOString()}`);
}
