/** Where the audit is kept: a contract, so that it can be kept with whatever keeps the packages. */

/** What one change was, who made it and how it went. */
export interface AuditRecord {
  /** Who, and by which login. */
  readonly who: string;
  readonly login: string;
  /** In the words of the field, such as `import`, `delete`, `reload`, `register`. */
  readonly action: string;
  /** What it was done to, such as a KO id, an engine or the url of a runtime. */
  readonly subject: string;
  /** The `@id` of a KO whose place has another name; of several each behind its place. */
  readonly atId?: string;
  /** Of the package, where there is one: hex. */
  readonly digest?: string;
  /** Of several packages, each behind its KO: `<naan>/<name>/<version> <hex>, …`. */
  readonly digests?: string;
  /** `sha256:<old>, sha256:<new>` of what an import changed. */
  readonly Replaced?: string;
  /** What of an activation failed: `<how many> of <how many>: <id>, …`. */
  readonly notActive?: string;
  /** `partly`: of an activation, some of what it was about. */
  readonly outcome: 'done' | 'partly' | 'failed' | 'refused';
  /** Of refused ones: why, and how many were alike, of which this is the first. */
  readonly reason?: string;
  readonly times?: number;
  readonly requestId: string;
  readonly remoteAddress: string;
}

export interface KeptAuditRecord extends AuditRecord {
  /** Grows with each record. */
  readonly id: number;
  /** ISO 8601, UTC. */
  readonly time: string;
  /** The place in the chain of hashes, since there is one. */
  readonly writer?: string;
  readonly number?: number;
  readonly previous?: string;
  readonly hash?: string;
}

export interface AuditQuery {
  readonly limit: number;
  /** Only records that are older than the one of this id. */
  readonly after?: number | undefined;
  /** Only records that are newer than the one of this id. */
  readonly newerThan?: number | undefined;
  /** Epoch milliseconds: only records of then and later. */
  readonly since?: number | undefined;
  /** `<naan>/<name>` or `<naan>/<name>/<version>`: only records of that knowledge object. */
  readonly ko?: string | undefined;
  readonly who?: string | undefined;
}

export interface AuditPage {
  /** The newest first. */
  readonly records: readonly KeptAuditRecord[];
  /** True where older ones fit too. */
  readonly more: boolean;
}

export interface AuditStore {
  /** The record is kept when this resolves. @throws Error when it cannot be kept. */
  append(record: AuditRecord): Promise<void>;
  /** Gives back the space of records beyond the bound of the store. */
  trim(): Promise<void>;
  read(query: AuditQuery): Promise<AuditPage>;
  /** Those who follow it ask again and again: it costs little where there is nothing new. */
  follow(): Promise<AuditFollower>;
}

/** What comes to the audit from when this was there, by whoever writes it. */
export interface AuditFollower {
  /** What came since it was asked last, the oldest first. */
  next(): Promise<readonly KeptAuditRecord[]>;
}

export function fits(record: KeptAuditRecord, { after, newerThan, since, ko, who }: AuditQuery): boolean {
  return (
    (after === undefined || record.id < after) &&
    (newerThan === undefined || record.id > newerThan) &&
    (since === undefined || Date.parse(record.time) >= since) &&
    (who === undefined || record.who === who) &&
    (ko === undefined || isAbout(record.subject, ko))
  );
}

/** A subject names one knowledge object or several, with more around it where the request was refused. */
function isAbout(subject: string, ko: string): boolean {
  for (let at = subject.indexOf(ko); at >= 0; at = subject.indexOf(ko, at + 1)) {
    if (!WITHIN_NAME.test(subject.charAt(at - 1)) && !WITHIN_NAME.test(subject.charAt(at + ko.length))) return true;
  }
  return false;
}

const WITHIN_NAME = /[^\s/,]/;
