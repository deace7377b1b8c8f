import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

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
