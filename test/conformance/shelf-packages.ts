import assert from 'node:assert/strict';
import { parseKoId, type KoId } from '../../src/knowledge-object/id.ts';
import { ServiceError } from '../../src/lib/errors.ts';
import type { KoPackage, Shelf, ShelfEntry } from '../../src/shelf/shelf.ts';

/** Contents by path. */
export type Files = Readonly<Record<string, string | Buffer>>;

export function koId(text: string): KoId {
  const id = parseKoId(text);
  assert.ok(id, text);
  return id;
}

export const metadataOf = (id: string, title = 'a title'): string => `{\n  "@id": "${id}", "title": "${title}"\n}\n`;

/** A package with a metadata file and one script, unless `files` says otherwise. */
export const filesOf = (id: string, files: Files = { 'src/index.js': 'function run() {}' }): Files => ({
  'metadata.json': metadataOf(id),
  ...files,
});

export async function put(shelf: Shelf, id: string, files: Files = filesOf(id)): Promise<ShelfEntry> {
  await using staging = await shelf.stage();
  for (const [path, content] of Object.entries(files)) await staging.write(path, Buffer.from(content));
  return await staging.commit(koId(id));
}

export async function open(shelf: Shelf, id: string): Promise<KoPackage> {
  const opened = await shelf.open(koId(id));
  assert.ok(opened, `${id} is on the shelf`);
  return opened;
}

/** All files of a package as text, by path. */
export async function contentOf(opened: KoPackage): Promise<Record<string, string>> {
  const content: Record<string, string> = {};
  for (const path of opened.files.keys()) content[path] = (await opened.read(path)).toString();
  return content;
}

/** All files of what the shelf has now. */
export async function contentOn(shelf: Shelf, id: string): Promise<Record<string, string>> {
  const opened = await open(shelf, id);
  try {
    return await contentOf(opened);
  } finally {
    opened.release();
  }
}

/** For `assert.rejects`: an error of the catalogue with this code, and with no path of the host in its message. */
export const failsWith = (code: string, message = /^/) => {
  return (thrown: unknown): boolean => {
    assert.ok(thrown instanceof ServiceError, String(thrown));
    assert.equal(thrown.code, code, thrown.message);
    assert.match(thrown.message, message);
    assert.doesNotMatch(thrown.message, /\/(tmp|home|var)\//);
    return true;
  };
};
