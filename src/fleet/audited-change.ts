/** The audit record of a change of what is active, which is kept in the transaction of that change. */
import type { Change } from '../activation/activator.ts';
import type { About } from '../activation/selection.ts';
import { koKey } from '../knowledge-object/id.ts';
import { someOf } from '../lib/text.ts';
import type { AuditRecord } from '../shelf/audit/audit-store.ts';
import type { ChangeAuthor } from '../shelf/change-author.ts';

/** A KO of which a change makes a package active. */
export interface Became {
  /** `<naan>/<name>/<version>`. */
  readonly ko: string;
  /** Of the package: hex. */
  readonly digest: string;
  readonly atId: string | null;
}

/** KOs that a record names. */
export const MOST_NAMED = 100;

/** What a change is about, in the words of the audit: as the request named it. */
export function subjectOf(about: About): string {
  switch (about.what) {
    case 'all':
      return 'all';
    case 'engine':
      return about.engine;
    case 'ko':
      return [about.naan, about.name, about.version].filter((part) => part !== undefined).join('/');
    case 'kos':
      return someOf(about.kos.map(koKey), MOST_NAMED);
  }
}

/** `became`: of a KO that was named all that is active, of others what is another package than before. */
export function recordOf(author: ChangeAuthor, action: Change, about: About, became: readonly Became[]): AuditRecord {
  const [first] = became;
  const atIds = became.flatMap(({ ko, atId }) => (atId === null ? [] : [`${ko} ${atId}`]));
  const isOne = about.what === 'ko' && became.length === 1;
  return {
    ...author.facts,
    action,
    subject: subjectOf(about),
    ...(isOne && first?.atId != null && { atId: first.atId }),
    ...(!isOne && atIds.length > 0 && { atId: someOf(atIds, MOST_NAMED) }),
    ...(isOne && first !== undefined && { digest: first.digest }),
    ...(!isOne &&
      became.length > 0 && {
        digests: someOf(
          became.map(({ ko, digest }) => `${ko} ${digest}`),
          MOST_NAMED,
        ),
      }),
    outcome: 'done',
  };
}
