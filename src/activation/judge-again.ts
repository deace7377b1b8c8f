/** What a changed trust policy means for what is active: only packages are read again of which the verdict is another. */
import { messageOf } from '../lib/errors.ts';
import type { KoId } from '../knowledge-object/id.ts';
import type { Verdict } from '../shelf/package/signatures/verdict.ts';
import type { StoredShelf } from '../shelf/store/stored-shelf.ts';
import type { Activator } from './activator.ts';
import type { LoadedKo } from './loaded-ko.ts';

export interface JudgeAgainOptions {
  readonly activator: Activator;
  readonly shelf: Pick<StoredShelf, 'openPackage' | 'judge'>;
  readonly onWarning: (message: string, cause?: unknown) => void;
}

/** Never rejects. */
export async function judgeAgain({ activator, shelf, onWarning }: JudgeAgainOptions): Promise<void> {
  try {
    const loaded = new Map<string, LoadedKo>(activator.set.endpoints.map(({ ko }) => [ko.key, ko]));
    // What was refused before, among all that cannot be read: it may be trusted now.
    const ids: KoId[] = activator.set.failures.map(({ id }) => id);
    for (const ko of loaded.values()) if (await isOther(ko, shelf)) ids.push(ko.id);
    if (ids.length > 0) await activator.reloadHere(ids);
  } catch (thrown) {
    onWarning(`the changed trust policy does not count everywhere yet: ${messageOf(thrown)}`, thrown);
  }
}

async function isOther(ko: LoadedKo, shelf: JudgeAgainOptions['shelf']): Promise<boolean> {
  const pkg = await shelf.openPackage(ko.id, ko.entry.digest).catch(() => undefined);
  // What cannot be read cannot be judged either.
  if (pkg === undefined) return true;
  try {
    return said(await shelf.judge(pkg)) !== said(ko.trust);
  } finally {
    pkg.release();
  }
}

const said = (verdict: Verdict | undefined): string =>
  verdict === undefined ? '' : JSON.stringify([verdict.decision, verdict.reason, verdict.signatures]);
