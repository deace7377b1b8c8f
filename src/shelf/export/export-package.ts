import type { Readable } from 'node:stream';
import { METADATA_FILE } from '../../knowledge-object/metadata.ts';
import type { KoPackage } from '../shelf.ts';
import { writeZip } from '../zip/write-zip.ts';

export interface ExportedPackage {
  /** `<naan>-<name>-<version>.zip` */
  readonly fileName: string;
  /** Fails with what a read of the package fails with. */
  readonly stream: Readable;
}

/**
 * A package as a zip: every file byte for byte, `metadata.json` as the shelf now has it, all in one top folder
 * `<naan>-<name>-<version>/`. The same KO always gives the same bytes. The package must stay open until the stream
 * is closed.
 */
export function exportPackage(ko: KoPackage): ExportedPackage {
  const { naan, name, version } = ko.entry.id;
  const folder = `${naan}-${name}-${version}`;
  const files = [...ko.files.keys()].map((path) => ({
    path: `${folder}/${path}`,
    content: path === METADATA_FILE ? Buffer.from(ko.entry.metadata) : () => ko.stream(path),
  }));
  return { fileName: `${folder}.zip`, stream: writeZip(files) };
}
