import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import pino from 'pino';
import { javascriptKo, zipOf } from '../../test/acceptance/support/ko.ts';
import { temporaryFolder } from '../../test/conformance/temporary-folder.ts';
import { ManualEngine } from '../../test/support/in-memory.ts';
import { objectOf } from '../../test/support/stored-packages.ts';
import type { KoId } from '../knowledge-object/id.ts';
import { scrub } from '../shelf/scrub.ts';
import { openStoredShelf } from '../shelf/store/open-stored-shelf.ts';
import { importZip } from '../shelf/import/import-zip.ts';
import { DEFAULT_PACKAGE_LIMITS } from '../shelf/archive/archive.ts';
import type { Shelf } from '../shelf/shelf.ts';
import { Activator } from './activator.ts';
import { KnownPackages } from './known-packages.ts';

const NAMES = ['one', 'three', 'two'];
const DESCRIPTORS = ['deployment.yaml', 'service.yaml'];

class ReadyEngine extends ManualEngine {
  override activate(...[plan]: Parameters<ManualEngine['activate']>) {
    const executor = super.activate(plan);
    this.succeed(plan.id);
    return executor;
  }

  activateKnown({ id }: { readonly id: string }) {
    return { execute: () => Promise.resolve(JSON.stringify(id)), dispose: () => undefined };
  }
}

/** The shelf, and which files of its packages were read since this was asked last. */
function counting(shelf: Shelf): { counted: Shelf; reads: () => string[]; opens: () => number } {
  const reads: string[] = [];
  let opens = 0;
  const open: Shelf['open'] = async (id) => {
    opens++;
    const pkg = await shelf.open(id);
    return (
      pkg && {
        entry: pkg.entry,
        files: pkg.files,
        digestOf: (path) => pkg.digestOf(path),
        read: (path) => {
          reads.push(`${id.name}/${path}`);
          return pkg.read(path);
        },
        stream: (path, range) => pkg.stream(path, range),
        release: () => pkg.release(),
      }
    );
  };
  const counted: Pick<Shelf, 'list' | 'find' | 'versions' | 'open' | 'rescan' | 'damage' | 'readAgain'> = {
    list: () => shelf.list(),
    find: (id) => shelf.find(id),
    versions: (naan, name) => shelf.versions(naan, name),
    open,
    rescan: (names) => shelf.rescan(names),
    damage: () => shelf.damage(),
    readAgain: () => shelf.readAgain(),
  };
  return { counted: counted as Shelf, reads: () => reads.splice(0).sort(), opens: () => opens };
}

async function startOn(shelf: Shelf, known: string): Promise<{ activator: Activator; remembered: KnownPackages }> {
  const remembered = await KnownPackages.open(known, '1');
  const engines = new Map([['javascript', new ReadyEngine()]]);
  const activator = new Activator({
    shelf,
    engines,
    known: remembered,
    opensLater: { find: (id) => shelf.find(id), openPackage: (id) => shelf.open(id) },
    log: pino({ level: 'silent' }),
  });
  await (
    await activator.start()
  ).decided;
  return { activator, remembered };
}

test('a second start opens no package that it knows, reads them when it is over, and finds what is damaged', async () => {
  await using folder = await temporaryFolder();
  const all = NAMES.flatMap((name) => DESCRIPTORS.map((file) => `${name}/${file}`));
  const known = join(folder.path, 'known');
  {
    await using shelf = await openStoredShelf(folder.path);
    for (const name of NAMES) {
      const { files } = javascriptKo('function run() {}', { naan: 'a', name });
      await importZip(Readable.from([await zipOf(files)]), {
        shelf,
        spool: folder.path,
        limits: DEFAULT_PACKAGE_LIMITS,
      });
    }
    const { counted, reads } = counting(shelf);
    const { activator, remembered } = await startOn(counted, known);
    assert.deepEqual(reads(), all, 'a first start reads each of them once');
    assert.deepEqual(await activator.takenAsKnown(), []);
    await remembered.save();
    activator[Symbol.dispose]();
  }
  await using shelf = await openStoredShelf(folder.path);
  const { counted, reads, opens } = counting(shelf);
  const place = objectOf(folder.path, `a/${NAMES[1] ?? ''}/v1.0`, 'service.yaml');
  const text = readFileSync(place, 'utf8');
  writeFileSync(place, text.replace('paths', 'paths'.toUpperCase()));
  const damaged = /\/a\/(\w+)/.exec(text)?.[1] ?? '';

  const { activator } = await startOn(counted, known);

  assert.deepEqual([reads(), opens()], [[], 0], 'nothing is opened before it is over');
  assert.equal((await activator.takenAsKnown()).length, NAMES.length);
  const { promise: found, resolve } = Promise.withResolvers<KoId>();
  const read = Promise.withResolvers<void>();
  let left = NAMES.length;
  const scrubbing = scrub({
    ...{ shelf, first: activator.takenAsKnown(), pass: 0 },
    onRead: () => --left === 0 && read.resolve(),
    onDamage: (_damage, id) => resolve(id),
  });
  await activator.foundDamaged(await found);
  await read.promise;
  scrubbing[Symbol.dispose]();
  assert.deepEqual(
    activator.set.failures.map(({ id, cause }) => [id.name, /service\.yaml is not what was stored/.test(cause)]),
    [[damaged, true]],
  );
  assert.equal(activator.set.endpoints.filter(({ status }) => status === 'ACTIVATED').length, 2);
  assert.deepEqual(
    shelf.damage().map(({ where }) => where.split('/')[1]),
    [damaged],
  );
  const whole = NAMES.find((name) => name !== damaged) ?? '';
  reads();
  await activator.reload('a', whole);
  assert.deepEqual(
    reads(),
    DESCRIPTORS.map((file) => `${whole}/${file}`),
    'a reload reads them',
  );
  activator[Symbol.dispose]();
});
