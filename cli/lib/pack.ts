/** Packs a knowledge object into an archive, the zip byte for byte as an activator would export it. */
import { buffer } from 'node:stream/consumers';
import { hash } from 'node:crypto';
import { METADATA_FILE } from '../../src/knowledge-object/metadata.ts';
import { exportPackage } from '../../src/shelf/export/export-package.ts';
import { packageDigest } from '../../src/shelf/package/package-content.ts';
import { DEFAULT_PACKAGE_LIMITS, bytes, type ArchiveKind } from '../../src/shelf/archive/archive.ts';
import { CommandFailure, EXIT } from './exit.ts';
import { packageOf, type Inspection } from '../../src/check/inspect.ts';
import { readSource, type KoSource } from '../../src/check/ko-source.ts';

export interface Packed {
  /** Digest of the content, the same as an activator's `KGrid-Package-Digest`. */
  readonly packageDigest: string;
  /** `<naan>-<name>-<version>.zip` or `.tar.gz`. */
  readonly fileName: string;
  readonly archive: Buffer<ArrayBuffer>;
}

/** @throws CommandFailure when its metadata cannot be read, or it is larger than an activator takes. */
export async function pack({ source, metadata }: Inspection, kind: ArchiveKind = 'zip'): Promise<Packed> {
  if (metadata === undefined) throw new CommandFailure(EXIT.problems, `${source.label} cannot be packed`);
  // The bytes of the file itself: an activator keeps the metadata as they are.
  const text = (await readSource(source, METADATA_FILE)).toString('utf8');
  const { fileName, stream } = exportPackage(packageOf(source, metadata, text), kind);
  const archive = Buffer.from(await buffer(stream));
  const { zipped } = DEFAULT_PACKAGE_LIMITS;
  if (archive.length > zipped) {
    throw new CommandFailure(
      EXIT.problems,
      `${fileName} has ${bytes(archive.length)}; a package may have ${bytes(zipped)}: leave files out`,
    );
  }
  return { fileName, archive, packageDigest: await digestOfFiles(source) };
}

async function digestOfFiles(source: KoSource): Promise<string> {
  const files = [];
  for (const { path, size } of source.files.values())
    files.push({ path, size, sha256: hash('sha256', await readSource(source, path)) });
  return `sha256:${packageDigest(files)}`;
}
