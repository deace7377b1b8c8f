/** Takes from a shelf the packages by which an answer was given, those too that were deleted or replaced since. */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { koKey, parseKoId } from '../../src/knowledge-object/id.ts';
import { openShelf } from '../../src/shelf/open-shelf.ts';
import type { KoPackage, Shelf } from '../../src/shelf/shelf.ts';
import type { Environment } from '../lib/context.ts';
import { ioFailure, usageFailure } from '../lib/exit.ts';
import { requireFolder } from '../lib/require-folder.ts';
import { orShelfFailure } from '../lib/shelf-failure.ts';
import type { Terminal } from '../lib/terminal.ts';
import type { KeptAnswer } from './answer-file.ts';

export interface ShelfToRead {
  readonly location: string;
  readonly fleet: string | undefined;
  readonly env: Environment;
}

/** Writes them below a folder, and gives their folders: that of the answer first. @throws CommandFailure. */
export async function packagesOfShelf(
  { location, fleet = 'kgrid', env }: ShelfToRead,
  answer: KeptAnswer,
  folder: string,
  terminal: Terminal,
): Promise<readonly string[]> {
  await requireFolder(location);
  await using shelf = await orShelfFailure(() =>
    openShelf(location, {
      ...{ fleet, isNode: false, passwords: { environment: env } },
      onWarning: (message) => terminal.note(message),
    }),
  );
  await orShelfFailure(() => shelf.ready());
  const wanted = await placesIn(shelf, answer, location);
  const folders: string[] = [];
  for (const [key, digest] of wanted) {
    const pkg = await openAs(shelf, key, digest);
    if (pkg === undefined) throw ioFailure(`${key} is not on the shelf ${location}, nor kept there with its digest`);
    const to = join(folder, String(folders.length));
    await write(pkg, to).finally(() => pkg.release());
    folders.push(to);
  }
  return folders;
}

/** Keys with digests. */
async function placesIn(
  shelf: Shelf,
  { provenance, metadata }: KeptAnswer,
  location: string,
): Promise<ReadonlyMap<string, string>> {
  if (provenance !== undefined) {
    const places = new Map([[provenance.knowledgeObject, provenance.digest]]);
    for (const { knowledgeObject, digest } of provenance.calls)
      if (!places.has(knowledgeObject)) places.set(knowledgeObject, digest);
    return places;
  }
  const entries = await shelf.list();
  const found = entries.find((entry) => isDeepStrictEqual(JSON.parse(entry.metadata), metadata));
  if (found === undefined)
    throw usageFailure(`No knowledge object on the shelf ${location} has the metadata that the answer tells`);
  return new Map([[koKey(found.id), `sha256:${found.digest}`]]);
}

async function openAs(shelf: Shelf, key: string, named: string): Promise<KoPackage | undefined> {
  const id = parseKoId(key);
  if (id === undefined) return undefined;
  const digest = named.replace(/^sha256:/, '');
  const present = await shelf.find(id);
  if (present?.digest === digest) return shelf.open(id);
  const kept = (await shelf.removed(id)).find((each) => each.digest === digest);
  return kept === undefined ? shelf.open(id) : shelf.openRemoved(id, digest);
}

async function write(pkg: KoPackage, to: string): Promise<void> {
  for (const path of pkg.files.keys()) {
    const file = join(to, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, await pkg.read(path));
  }
}
