/** Activators that share one PostgreSQL database, each a process of its own with a state folder of its own. */
import assert from 'node:assert/strict';
import { cp } from 'node:fs/promises';
import { temporaryFolder, startService } from '../../acceptance/support/service.ts';
import type { OwnService, Start } from '../../acceptance/support/service.ts';
import { testDatabase } from '../../support/postgres/shared.ts';
import type { TestDatabase } from '../../support/postgres/shared.ts';

export interface TestFleet extends AsyncDisposable {
  readonly database: TestDatabase;
  /** Those that were started, in order; a place is taken again by `restart`. */
  readonly nodes: OwnService[];
  node(i: number): OwnService;
  /** @param copyOf a node with a copy of whose state folder it begins. */
  add(start?: Start, copyOf?: number): Promise<OwnService>;
  /** A new process in the place of one that has ended, with its state folder and its address. */
  restart(i: number, start?: Start): Promise<OwnService>;
}

export interface FleetStart extends Start {
  /** For the first start of each, over what is for all. */
  readonly each?: (i: number) => Start;
  /** Location of the database, where it is another than one of its own on the server of the tests; of each node. */
  readonly url?: string | ((i: number) => string);
}

export async function startFleet(count: number, start: FleetStart = {}): Promise<TestFleet> {
  const all = new AsyncDisposableStack();
  const database = start.url === undefined ? all.use(await testDatabase()) : undefined;
  const nodes: OwnService[] = [];
  const folders: string[] = [];
  const { url = database?.url ?? '', ...rest } = start;
  const network = `127.${1 + Math.floor(Math.random() * 250)}.${1 + Math.floor(Math.random() * 250)}`;
  const launch = (i: number, folder: string, more: Start = {}): Promise<OwnService> =>
    startService({
      ...rest,
      ...more,
      shelf: typeof url === 'string' ? url : url(i),
      // Addresses that nobody else connects from or to: a node that starts again finds its port free.
      args: [
        ...['--state', folder, '--host', `${network}.${i + 1}`],
        ...(more.args?.includes('--port') === true ? [] : ['--port', nodes[i]?.url.split(':').at(-1) ?? '0']),
        ...(rest.args ?? []),
        ...(more.args ?? []),
      ],
    });
  const add = async (more?: Start, copyOf?: number): Promise<OwnService> => {
    const { path } = all.use(await temporaryFolder());
    if (copyOf !== undefined) await cp(folders[copyOf] ?? '', path, { recursive: true });
    const node = await launch(nodes.length, path, more);
    folders.push(path);
    nodes.push(node);
    return node;
  };
  const end = async (): Promise<void> => {
    await Promise.all(nodes.map((each) => each[Symbol.asyncDispose]()));
    await all.disposeAsync();
  };
  try {
    for (let i = 0; i < count; i++) await add(start.each?.(i));
  } catch (thrown) {
    await end();
    throw thrown;
  }
  return {
    get database() {
      return database ?? assert.fail('the database is not one of its own');
    },
    nodes,
    add,
    node: (i) => nodes[i] ?? assert.fail(`there is no node ${i}`),
    async restart(i, more) {
      const node = await launch(i, folders[i] ?? assert.fail(`there is no node ${i}`), more);
      nodes[i] = node;
      return node;
    },
    [Symbol.asyncDispose]: end,
  };
}
