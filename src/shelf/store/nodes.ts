/** Which nodes live, as conditions of SQL on rows of `node`, and how far they are. */
import { setTimeout as wait } from 'node:timers/promises';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Database, Dialect, Value } from './database.ts';

/** Milliseconds after which a node without a sign of life is not waited for. */
export const LIVE_FOR_MS = 5000;
/** Milliseconds of a silence of all, as where the database was away, that are not held against a node. */
const LONGEST_SILENCE_MS = 60_000;

export const lives = ({ now }: Dialect): string => `heartbeat > ${now} - ${String(LIVE_FOR_MS)}`;

/**
 * Lives, or did when the database was heard of last: where it was away, no node could give a sign of life, and all may be
 * back a moment later. A node that was silent itself cannot tell, for as long as the others have to be heard again.
 */
export const mayLive = ({ schema, now }: Dialect): string => `heartbeat > (
  SELECT CASE WHEN latest < ${now} - ${String(LONGEST_SILENCE_MS)} THEN ${now} - ${String(LONGEST_SILENCE_MS)} ELSE latest END
      - ${String(LIVE_FOR_MS)}
    FROM (SELECT CASE WHEN silent_from < latest THEN silent_from ELSE latest END AS latest
      FROM (SELECT max(heartbeat) AS latest,
          min(CASE WHEN heard_again > ${now} - ${String(LIVE_FOR_MS)} THEN heard_until END) AS silent_from
        FROM ${schema}node) AS heard) AS heard)`;

/** Between two looks at how far they are: most are there at once. */
const FIRST_PAUSE_MS = 4;
const LONGEST_PAUSE_MS = 100;

/** Names of the nodes that may live of which a condition holds. @throws an error of the database. */
export async function nodesWhere(
  { query, dialect }: Pick<Database, 'query' | 'dialect'>,
  condition: string,
  values: readonly Value[],
): Promise<readonly string[]> {
  const sql = `SELECT name FROM ${dialect.schema}node WHERE ${condition} AND ${mayLive(dialect)} ORDER BY name`;
  return (await query<{ name: string }>(sql, values)).rows.map(({ name }) => name);
}

/** Looks until nobody is behind any more. @param atMost milliseconds. @returns those that are behind then. */
export async function untilNone(look: () => Promise<readonly string[]>, atMost: number): Promise<readonly string[]> {
  const until = performance.now() + atMost;
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
    const behind = await look();
    if (behind.length === 0 || performance.now() >= until) return behind;
    await wait(pause);
  }
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Who a node is for the others. */
export class NodeId {
  #value: string;
  readonly #file: string | undefined;

  /** @param file where it is kept. */
  constructor(value: string = crypto.randomUUID(), file?: string) {
    this.#value = value;
    this.#file = file;
  }

  get value(): string {
    return this.#value;
  }

  /** Another than before, from now on. */
  async renew(): Promise<void> {
    this.#value = crypto.randomUUID();
    if (this.#file !== undefined) await writeFile(this.#file, `${this.#value}\n`).catch(() => undefined);
  }
}

/**
 * The id of the node that has a folder for itself: the same at each start, so that it takes the place of what was there
 * before, and of nobody else. Without the file it is another node, and the old one is missed for some seconds.
 */
export async function nodeIdIn(folder: string): Promise<NodeId> {
  const file = join(folder, 'node-id');
  const known = (await readFile(file, 'utf8').catch(() => '')).trim();
  if (UUID.test(known)) return new NodeId(known, file);
  const id = new NodeId(undefined, file);
  await writeFile(file, `${id.value}\n`).catch(() => undefined);
  return id;
}
