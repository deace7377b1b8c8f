/** Holds the records of an audit to their chain of hashes. */
import { fieldsOf, jsonOr } from '../../lib/json.ts';
import { pagesOf, type Database } from '../store/database.ts';
import { chainOf, BEGIN, type ChainEnd } from './audit-chain.ts';
import { CHAIN, PAGE, RECORD, type AuditRow, type ChainRow } from './audit-table.ts';

/** What the head says of a writer beside its records. */
interface KnownWriter {
  readonly end: ChainEnd;
  /** Up to where the oldest went because there were too many. */
  readonly trimmed: ChainEnd;
}

type KnownWriters = ReadonlyMap<string, KnownWriter>;

export type ProblemKind = 'changed' | 'removed' | 'inserted' | 'reordered' | 'unknown';

export interface AuditProblem {
  readonly kind: ProblemKind;
  readonly writer?: string;
  /** Of that writer, where one is meant. */
  readonly number?: number;
  readonly id?: number;
  readonly why: string;
}

export interface VerifiedWriter {
  readonly writer: string;
  readonly records: number;
  /** How many went at its beginning because there were too many. */
  readonly trimmed: number;
  readonly number: number;
  readonly hash: string;
}

export interface AuditVerdict {
  readonly problems: readonly AuditProblem[];
  /** Of which more were found than are told. */
  readonly more: number;
  readonly writers: readonly VerifiedWriter[];
  /** Records from before there was a chain. */
  readonly older: number;
}

/** A hash that somebody noted of an earlier time: `<writer>/<number>/<hash>`. */
export interface NotedHash extends ChainEnd {
  readonly writer: string;
}

const MOST_PROBLEMS = 1000;
const TRIM_SUBJECT = /,"action":"trim audit","subject":"([\w-]{1,64}) (\d{1,15} (?:[0-9a-f]{64})?)",/;

interface Gap {
  from: number;
  readonly to: number;
}

/** One writer, as its records are read. */
interface Chain {
  end: ChainEnd;
  records: number;
  /** Numbers that did not come yet. */
  gaps: Gap[];
  /** The first record that is there. */
  first: { readonly number: number; readonly previous: string; readonly id: number } | undefined;
  /** Hashes of those numbers that are known beside the records. */
  readonly seen: Map<number, string>;
}

/** A service may go on writing. */
export async function verifyAudit(
  database: Pick<Database, 'query' | 'dialect'>,
  noted: readonly NotedHash[] = [],
): Promise<AuditVerdict> {
  const verifier = new Verifier(await knownWriters(database), noted);
  const all = `SELECT ${RECORD.join(', ')} FROM ${database.dialect.schema}audit WHERE 1 = 1`;
  for await (const rows of pagesOf<AuditRow>(database.query, all, 'id', PAGE))
    for (const row of rows) verifier.read(row);
  return verifier.close(await knownWriters(database));
}

async function knownWriters({ query, dialect }: Pick<Database, 'query' | 'dialect'>): Promise<KnownWriters> {
  const { rows } = await query<ChainRow>(
    ['audit_head', 'audit_earlier']
      .map((table) => `SELECT ${CHAIN.join(', ')} FROM ${dialect.schema}${table}`)
      .join(' UNION ALL '),
  );
  return new Map(
    rows.map(({ writer, number, hash, trimmed, trimmed_hash: hashOfTrimmed }) => [
      writer,
      { end: { number, hash }, trimmed: { number: trimmed, hash: hashOfTrimmed } },
    ]),
  );
}

/** The columns by which records are chosen say the same as the record. */
function contradictionIn({ record, at, who }: AuditRow): string | undefined {
  const said = fieldsOf(jsonOr(record));
  const columns = { who, time: new Date(at).toISOString() };
  const other = Object.entries(columns).find(([name, value]) => said[name] !== undefined && said[name] !== value);
  return other && `its column ${other[0]} is not as its text says`;
}

class Verifier {
  readonly #before: KnownWriters;
  readonly #noted: readonly NotedHash[];
  readonly #chains = new Map<string, Chain>();
  readonly #problems: AuditProblem[] = [];
  /** The end up to which, by its records, the oldest of a writer went last. */
  readonly #trims = new Map<string, string>();
  #more = 0;
  #older = 0;

  constructor(before: KnownWriters, noted: readonly NotedHash[]) {
    this.#before = before;
    this.#noted = noted;
  }

  read(row: AuditRow): void {
    const { id, record: text } = row;
    const found = chainOf(text);
    if (found === undefined) {
      this.#readOutside(id);
      return;
    }
    const { writer, previous, hash, isWhole } = found;
    const [, trimmed, upTo] = TRIM_SUBJECT.exec(text) ?? [];
    if (trimmed !== undefined && upTo !== undefined && isWhole) this.#trims.set(trimmed, upTo);
    const chain = this.#chainOf(writer);
    chain.records++;
    const problem = (kind: ProblemKind, why: string): void =>
      this.#add({ kind, writer, number: found.number, id, why });
    const contradiction = isWhole ? contradictionIn(row) : 'its text does not have its hash';
    if (contradiction !== undefined) problem('changed', contradiction);
    const { end } = chain;
    // What is changed may have another number than it had.
    const number = !isWhole && previous === end.hash && chain.first !== undefined ? end.number + 1 : found.number;
    if (number <= end.number) {
      const wasMissing = fill(chain.gaps, number);
      if (wasMissing) problem('reordered', `it stands behind number ${String(end.number)}`);
      else problem('inserted', 'a record of this number is there already');
      return;
    }
    if (chain.first === undefined) chain.first = { number, previous, id };
    else if (number === end.number + 1 && previous !== end.hash)
      problem('changed', `it does not follow number ${String(end.number)}: that one is not as it was, or this one`);
    if (number > end.number + 1) chain.gaps.push({ from: end.number + 1, to: number - 1 });
    chain.end = { number, hash };
    if (this.#isKnown(writer, number)) chain.seen.set(number, hash);
  }

  close(writers: KnownWriters): AuditVerdict {
    for (const [writer, known] of this.#before) this.#closeWriter(writer, writers.get(writer) ?? known);
    for (const [writer, { trimmed }] of writers) this.#requireTrim(writer, trimmed);
    for (const [writer, chain] of this.#chains) {
      if (this.#before.has(writer)) continue;
      const known = writers.get(writer);
      if (known !== undefined) this.#closeWriter(writer, known);
      else {
        this.#add({
          ...{ kind: 'unknown', writer },
          why: 'the store does not know this writer: what it noted of it was removed, or its records were inserted',
        });
        this.#removed(writer, chain, BEGIN.number, chain.end.number);
      }
    }
    for (const noted of this.#noted) this.#compare(noted, writers.get(noted.writer));
    return {
      problems: this.#problems,
      more: this.#more,
      older: this.#older,
      writers: [...this.#chains].map(([writer, { records, end }]) => ({
        ...{ writer, records, trimmed: writers.get(writer)?.trimmed.number ?? 0 },
        ...{ number: end.number, hash: end.hash },
      })),
    };
  }

  /** What is said to have gone because there was too much is said by a record too, or somebody else took it away. */
  #requireTrim(writer: string, { number, hash }: ChainEnd): void {
    if (number > 0 && this.#trims.get(writer) !== `${String(number)} ${hash}`)
      this.#addRemoved(writer, 1, number, 'and no record says that they went because there were too many');
  }

  #readOutside(id: number): void {
    if (this.#chains.size === 0) this.#older++;
    else
      this.#add({
        ...{ kind: 'inserted', id },
        why: 'it has no place in a chain: it was put in, or what it had was taken off',
      });
  }

  #closeWriter(writer: string, { end, trimmed }: KnownWriter): void {
    const chain = this.#chainOf(writer);
    const known = this.#before.get(writer)?.end ?? BEGIN;
    const { first } = chain;
    if (first?.number === trimmed.number + 1 && first.previous !== trimmed.hash)
      this.#add({
        ...{ kind: 'changed', writer, number: first.number, id: first.id },
        why: 'it does not follow the one that was the last before it',
      });
    this.#removed(writer, chain, trimmed.number, known.number);
    const last = Math.max(chain.end.number, trimmed.number);
    if (last < known.number) this.#addRemoved(writer, last + 1, known.number, 'at the end');
    const seen = chain.seen.get(known.number);
    if (seen !== undefined && seen !== known.hash)
      this.#add({
        ...{ kind: 'changed', writer, number: known.number },
        why: 'it was the last one and had another hash',
      });
    if (chain.end.number > end.number)
      this.#add({
        ...{ kind: 'inserted', writer, number: end.number + 1 },
        why: `its writer wrote no more than ${String(end.number)}`,
      });
  }

  /** What is missing, but for what went because there were too many, and what was written since the records were read. */
  #removed(writer: string, { gaps }: Chain, trimmed: number, known: number): void {
    for (const { from, to } of gaps)
      if (to > trimmed && from <= known)
        this.#addRemoved(writer, Math.max(from, trimmed + 1), to, `before number ${String(to + 1)}`);
  }

  #addRemoved(writer: string, from: number, to: number, where: string): void {
    const which = from === to ? `number ${String(from)} is` : `numbers ${String(from)} to ${String(to)} are`;
    this.#add({ kind: 'removed', writer, number: from, why: `${which} not there, ${where}` });
  }

  #compare({ writer, number, hash }: NotedHash, known: KnownWriter | undefined): void {
    const found = this.#chains.get(writer)?.seen.get(number);
    if (found === hash || (known?.trimmed.number === number && known.trimmed.hash === hash)) return;
    const why =
      found !== undefined
        ? 'it had another hash when that was noted'
        : known !== undefined && number <= known.trimmed.number
          ? undefined
          : 'it was there when its hash was noted';
    if (why !== undefined) this.#add({ kind: found === undefined ? 'removed' : 'changed', writer, number, why });
  }

  #isKnown(writer: string, number: number): boolean {
    return (
      this.#before.get(writer)?.end.number === number ||
      this.#noted.some((noted) => noted.writer === writer && noted.number === number)
    );
  }

  #chainOf(writer: string): Chain {
    let chain = this.#chains.get(writer);
    if (chain === undefined) {
      chain = { end: BEGIN, records: 0, gaps: [], first: undefined, seen: new Map() };
      this.#chains.set(writer, chain);
    }
    return chain;
  }

  #add(problem: AuditProblem): void {
    if (this.#problems.length < MOST_PROBLEMS) this.#problems.push(problem);
    else this.#more++;
  }
}

/** Takes a number out of the gaps. @returns whether it was in one. */
function fill(gaps: Gap[], number: number): boolean {
  const at = gaps.findIndex(({ from, to }) => from <= number && number <= to);
  const gap = gaps[at];
  if (gap === undefined) return false;
  const parts = [
    { from: gap.from, to: number - 1 },
    { from: number + 1, to: gap.to },
  ].filter(({ from, to }) => from <= to);
  gaps.splice(at, 1, ...parts);
  return true;
}
