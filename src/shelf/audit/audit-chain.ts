/**
 * The chain of hashes of the audit. Each record is a JSON text that says who wrote it (`writer`), which of that writer
 * it is (`number`, from 1), the `hash` of the one before it (`previous`), and last its own `hash`: sha256 of the text up
 * to there, closed by `}`. A record that is removed, changed, moved or put in does not fit any more.
 */
import { hash as hashOf } from 'node:crypto';

export interface ChainFields {
  readonly writer: string;
  /** Of that writer: 1 and up, without a gap. */
  readonly number: number;
  /** Hash of the record before it; empty for the first one. */
  readonly previous: string;
  readonly hash: string;
}

/** How far a writer is. */
export interface ChainEnd {
  /** 0 before the first one. */
  readonly number: number;
  readonly hash: string;
}

export const BEGIN: ChainEnd = { number: 0, hash: '' };

/** The text of a record with its place in the chain. */
export function chained(record: object, writer: string, { number, hash }: ChainEnd): { text: string; end: ChainEnd } {
  const body = JSON.stringify({ ...record, writer, number: number + 1, previous: hash });
  const own = hashOf('sha256', body, 'hex');
  return { text: `${body.slice(0, -1)},"hash":"${own}"}`, end: { number: number + 1, hash: own } };
}

/** Undefined of a text without a place in a chain, as before there was one. */
export function chainOf(text: string): (ChainFields & { readonly isWhole: boolean }) | undefined {
  const [, body, hash] = OWN_HASH.exec(text) ?? [];
  if (body === undefined || hash === undefined) return undefined;
  const [, writer, number, previous] = PLACE.exec(body) ?? [];
  if (writer === undefined || number === undefined || previous === undefined) return undefined;
  const isWhole = hashOf('sha256', `${body}}`, 'hex') === hash;
  return { writer, number: Number(number), previous, hash, isWhole };
}

const OWN_HASH = /^(\{.*),"hash":"([0-9a-f]{64})"\}$/s;
const PLACE = /,"writer":"([\w-]{1,64})","number":(\d{1,15}),"previous":"((?:[0-9a-f]{64})?)"$/;
