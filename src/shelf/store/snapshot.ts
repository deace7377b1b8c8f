/** A copy of a database, as it is at one moment, while another process may write it. */
import { existsSync } from 'node:fs';
import { copyFile, rm, stat } from 'node:fs/promises';
import { isMissing } from '../disk-errors.ts';
import { SqliteDatabase, SqliteError } from './sqlite/sqlite-database.ts';

const PARTS = ['', '-wal'];
const MOST_ATTEMPTS = 20;

/** What differs once the database was written. */
export const stampOf = async (file: string): Promise<string> =>
  (await Promise.all(PARTS.map((part) => stampOfFile(file + part)))).join(' ');

/** Where there is no database, there is no copy. @param target is not there yet; it may get a `-wal` beside it. */
export async function takeSnapshot(source: string, target: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    // Without that file nobody writes, or what is written stands in the database itself.
    if (existsSync(`${source}-wal`) && (await isVacuumed(source, target))) return;
    const before = await stampOf(source);
    for (const part of PARTS)
      await copyFile(source + part, target + part).catch((thrown: unknown) => {
        if (!isMissing(thrown)) throw thrown;
      });
    if (before === (await stampOf(source))) return;
    await removeDatabase(target);
    if (attempt === MOST_ATTEMPTS)
      throw new Error('the database of the shelf is written all the time: try again later');
  }
}

export async function removeDatabase(file: string): Promise<void> {
  for (const part of [...PARTS, '-shm']) await rm(file + part, { force: true });
}

/** @returns false where this process may not read it while others write, as on a disk that is read-only. */
async function isVacuumed(source: string, target: string): Promise<boolean> {
  try {
    await using database = await SqliteDatabase.open(source, { isReadOnly: true });
    await database.query('VACUUM INTO $1', [target]);
    return true;
  } catch (thrown) {
    await removeDatabase(target);
    if (!(thrown instanceof SqliteError) || thrown.isDamage) throw thrown;
    return false;
  }
}

async function stampOfFile(path: string): Promise<string> {
  const found = await stat(path, { bigint: true }).catch(() => undefined);
  return found === undefined ? 'none' : `${String(found.size)} ${String(found.mtimeNs)} ${String(found.ino)}`;
}
