import { packageDigest, sha256 } from '../../../src/shelf/package/package-content.ts';
import type { Ko } from '../../acceptance/support/ko.ts';

/** What `KGrid-Package-Digest` says of it: hex. */
export const packageDigestOf = ({ files }: Ko): string =>
  packageDigest(
    Object.entries(files).map(([path, content]) => ({
      path,
      size: Buffer.byteLength(content),
      sha256: sha256(Buffer.from(content)),
    })),
  );
