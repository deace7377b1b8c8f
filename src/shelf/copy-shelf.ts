/**
 * Copies what is on one shelf to another, of whatever kinds they are. What is there already, by its digest, is not copied
 * again, so that a copy that broke off goes on where it was.
 */
import { koKey, type KoId } from '../knowledge-object/id.ts';
import { messageOf } from '../lib/errors.ts';
import { copyFiles } from './package/staged-package.ts';
import type { KoPackage, RemovedPackage, Shelf } from './shelf.ts';

export interface CopyReport {
  /** `<naan>/<name>/<version>` of what was copied, and of what was there. */
  readonly copied: string[];
  readonly present: string[];
  /** Packages that are kept, of deleted or replaced ones. */
  keptCopied: number;
  readonly failed: { readonly where: string; readonly cause: string }[];
}

export interface CopyOptions {
  /** Also in the place of other packages of the same ids. */
  readonly overwrite: boolean;
  readonly onCopied: (key: string) => void;
}

/** What goes wrong with one KO stands in the report, and the rest is copied. @throws what the target itself throws. */
export async function copyShelf(from: Shelf, to: Shelf, { overwrite, onCopied }: CopyOptions): Promise<CopyReport> {
  const report: CopyReport = { copied: [], present: [], keptCopied: 0, failed: [] };
  for (const { where, cause } of from.damage()) report.failed.push({ where, cause });
  const kept = Map.groupBy(await from.removed(), ({ id }) => koKey(id));
  const ids = new Map<string, KoId>();
  for (const { id } of await from.list()) ids.set(koKey(id), id);
  for (const [key, [each]] of kept) if (each !== undefined) ids.set(key, each.id);
  for (const [key, id] of ids) {
    try {
      const copied = await copyKo({ from, to, id, kept: kept.get(key) ?? [], overwrite, report });
      report[copied ? 'copied' : 'present'].push(key);
      if (copied) onCopied(key);
    } catch (thrown) {
      report.failed.push({ where: key, cause: messageOf(thrown) });
    }
  }
  return report;
}

interface KoCopy {
  readonly from: Shelf;
  readonly to: Shelf;
  readonly id: KoId;
  /** The latest first. */
  readonly kept: readonly RemovedPackage[];
  readonly overwrite: boolean;
  readonly report: CopyReport;
}

/** What was replaced goes before what replaced it, so that the target keeps it too. @returns whether anything was copied. */
async function copyKo({ from, to, id, kept, overwrite, report }: KoCopy): Promise<boolean> {
  const current = await from.find(id);
  const there = await to.find(id);
  if (current !== undefined && there?.digest === current.digest) return false;
  const known = new Set((await to.removed(id)).map(({ digest }) => digest));
  const latest = kept[0]?.digest;
  if (current === undefined && there === undefined && latest !== undefined && known.has(latest)) return false;
  const own = new Set([current?.digest, ...kept.map(({ digest }) => digest)]);
  if (there !== undefined && !own.has(there.digest) && !overwrite)
    throw new Error(`another package is there, sha256:${there.digest}: add --overwrite to replace it`);
  for (const { digest } of kept.toReversed()) {
    if (known.has(digest) || there?.digest === digest) continue;
    await copyPackage(await from.openRemoved(id, digest), to, id, digest);
    report.keptCopied++;
  }
  const opened = current && (await from.open(id));
  if (current !== undefined && opened !== undefined) await copyPackage(opened, to, id, opened.entry.digest);
  else if ((await to.find(id)) !== undefined) await to.remove(id);
  return true;
}

async function copyPackage(opened: KoPackage, to: Shelf, id: KoId, digest: string): Promise<void> {
  try {
    await using staging = await to.stage();
    await copyFiles(opened, staging);
    const entry = await staging.commit(id);
    if (entry.digest !== digest)
      throw new Error(`what was copied has the digest sha256:${entry.digest}, and not sha256:${digest}`);
  } finally {
    opened.release();
  }
}
