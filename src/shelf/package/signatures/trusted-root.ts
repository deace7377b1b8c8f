/** Which authorities, logs and timestamps are believed: a file that an operator gives, in Sigstore's own format. */
import { TrustedRoot } from '@sigstore/protobuf-specs';
import { refusing, SignatureRefused } from './refused.ts';

export const MAX_ROOT_BYTES = 4 * 1024 * 1024;
const MEDIA_TYPE = /^application\/vnd\.dev\.sigstore\.trustedroot(?:\+json;version=0\.[12]|\.v0\.[12]\+json)$/;

/** @throws SignatureRefused. */
export function parseTrustedRoot(bytes: Buffer): TrustedRoot {
  if (bytes.length > MAX_ROOT_BYTES) throw new SignatureRefused(`a trusted root may have ${MAX_ROOT_BYTES} bytes`);
  const root = refusing('it is no trusted root', () => TrustedRoot.fromJSON(JSON.parse(bytes.toString('utf8'))));
  if (!MEDIA_TYPE.test(root.mediaType)) throw new SignatureRefused('it is no trusted root: its mediaType is another');
  // The library takes a missing start for the beginning of time, so that a damaged root would trust more, not less.
  for (const { baseUrl, publicKey } of [...root.tlogs, ...root.ctlogs]) {
    if (publicKey?.validFor?.start === undefined)
      throw new SignatureRefused(`the key of the log ${baseUrl} does not say from when it is valid`);
  }
  return root;
}

/** Trusts nothing: a key that the verifier was given needs no authority. */
export const EMPTY_ROOT: TrustedRoot = TrustedRoot.fromJSON({
  mediaType: 'application/vnd.dev.sigstore.trustedroot+json;version=0.1',
});
