/** Sigstore bundles as files. */
import {
  BUNDLE_V01_MEDIA_TYPE,
  BUNDLE_V02_MEDIA_TYPE,
  BUNDLE_V03_LEGACY_MEDIA_TYPE,
  BUNDLE_V03_MEDIA_TYPE,
  bundleFromJSON,
  bundleToJSON,
  type Bundle,
} from '@sigstore/bundle';
import { refusing, SignatureRefused } from './refused.ts';

/** A bundle has some 10 kB. What is larger is refused before a parser sees it, which needs several times its size. */
export const MAX_BUNDLE_BYTES = 1024 * 1024;
/** Each entry costs signature checks, and the library compares all pairs. */
const MAX_PARTS = 32;

/** The library takes anything that begins like these, such as v0.4, whose rules it does not know. */
const MEDIA_TYPES: ReadonlySet<string> = new Set([
  BUNDLE_V01_MEDIA_TYPE,
  BUNDLE_V02_MEDIA_TYPE,
  BUNDLE_V03_LEGACY_MEDIA_TYPE,
  BUNDLE_V03_MEDIA_TYPE,
]);
const LATEST: ReadonlySet<string> = new Set([BUNDLE_V03_LEGACY_MEDIA_TYPE, BUNDLE_V03_MEDIA_TYPE]);

/** @throws SignatureRefused. */
export function parseBundle(bytes: Buffer): Bundle {
  requireBundleSize(bytes.length);
  const bundle = refusing('it is no Sigstore bundle', () => bundleFromJSON(JSON.parse(bytes.toString('utf8'))));
  if (!MEDIA_TYPES.has(bundle.mediaType))
    throw new SignatureRefused(`the bundle is of the unknown type ${bundle.mediaType}`);
  const { tlogEntries, timestampVerificationData } = bundle.verificationMaterial;
  const parts = tlogEntries.length + (timestampVerificationData?.rfc3161Timestamps.length ?? 0);
  if (parts > MAX_PARTS) throw new SignatureRefused(`the bundle has more than ${MAX_PARTS} log entries and timestamps`);
  return bundle;
}

/** @throws SignatureRefused. */
export function requireBundleSize(size: number): void {
  if (size > MAX_BUNDLE_BYTES)
    throw new SignatureRefused(`the bundle has ${size} bytes; one may have ${MAX_BUNDLE_BYTES}`);
}

/** A package is signed by ours or by cosign of today, which both write v0.3. @throws SignatureRefused. */
export function requireLatest({ mediaType }: Bundle): void {
  if (!LATEST.has(mediaType))
    throw new SignatureRefused(`the bundle is of the older format ${mediaType}: sign the package again (v0.3)`);
}

export const bundleText = (bundle: Bundle): string => `${JSON.stringify(bundleToJSON(bundle), undefined, 2)}\n`;
