import type { Readable } from 'node:stream';
import { METADATA_FILE } from '../../knowledge-object/metadata.ts';
import type { KoPackage } from '../shelf.ts';
import type { ArchiveKind } from '../archive/archive.ts';
import { writeTarGz } from '../tar/write-tar.ts';
import { writeZip } from '../zip/write-zip.ts';

export interface ExportedPackage {
  /** `<naan>-<name>-<version>.zip` or `.tar.gz`. */
  readonly fileName: string;
  /** Fails with what a read of the package fails with. */
  readonly stream: Readable;
}

/**
 * A package as an archive: every file byte for byte, `metadata.json` as the shelf now has it, all in one top folder
 * `<naan>-<name>-<version>/`. The same KO always gives the same bytes. The package must stay open until the stream
 * is closed.
 */
export function exportPackage(ko: KoPackage, kind: ArchiveKind = 'zip'): ExportedPackage {
  const { naan, name, version } = ko.entry.id;
  const folder = `${naan}-${name}-${version}`;
  const metadata = Buffer.from(ko.entry.metadata);
  const files = [...ko.files.values()].map(({ path, size }) => ({
    path: `${folder}/${path}`,
    ...(path === METADATA_FILE
      ? { size: metadata.length, content: metadata }
      : { size, content: () => ko.stream(path) }),
  }));
  return kind === 'tar'
    ? { fileName: `${folder}.tar.gz`, stream: writeTarGz(files) }
    : { fileName: `${folder}.zip`, stream: writeZip(files) };
}
