import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { text } from 'node:stream/consumers';
import { koKey } from '../../src/knowledge-object/id.ts';
import { temporaryFolder, type TemporaryFolder } from '../conformance/temporary-folder.ts';
import { judge, lostOf, type Findings } from './check-shelf.ts';
import { notePlace } from './database-place.ts';
import { filesOf, metadataOf } from './generations.ts';
import { Journal, type Change } from './journal.ts';
import { makeChange, nextChange } from './make-change.ts';
import { stores, type StoreName } from './stores.ts';

const CHANGER = join(import.meta.dirname, 'changer.ts');

/** What a change is made to: nothing, a KO that was imported, or a KO that a person put there as a folder. */
export type Origin = 'nothing' | 'imported' | 'folder' | 'replaced' | 'removed' | 'removed folder';

/** A shelf and the journal of what was done to it, in a folder of their own. */
export class CrashSite implements AsyncDisposable {
  readonly shelf: string;
  /** How many kills left something that the next start has to remove. */
  interruptions = 0;
  /** Compiled code for the processes to come, of the whole run where it has some; filled by those that are not killed. */
  readonly cache: string;
  readonly #folder: TemporaryFolder;
  readonly #store: StoreName;
  readonly #journalPath: string;
  readonly #journal: Journal;

  private constructor(
    store: StoreName,
    folder: TemporaryFolder,
    cache = process.env['NODE_COMPILE_CACHE'] ?? join(folder.path, 'cache'),
  ) {
    this.cache = cache;
    this.#store = store;
    this.#folder = folder;
    this.shelf = join(folder.path, 'shelf');
    this.#journalPath = join(folder.path, 'journal');
    this.#journal = new Journal(this.#journalPath);
  }

  /** @param database for the store that needs one. */
  static async create(store: StoreName, cache?: string, database?: string): Promise<CrashSite> {
    const site = new CrashSite(store, await temporaryFolder(), cache);
    await mkdir(site.shelf);
    if (database !== undefined)
      notePlace(site.shelf, { url: database, fleet: `fleet-${crypto.randomUUID().slice(0, 13)}` });
    return site;
  }

  /** Brings KO `a/b/v1` to where a change starts from. */
  async prepare(origin: Origin): Promise<void> {
    if (origin === 'nothing') return;
    const there = { replaced: { files: 1, metadata: 1 }, removed: null, 'removed folder': null };
    this.#journal.found('a/b/v1', origin in there ? there[origin as keyof typeof there] : { files: 0, metadata: 0 });
    if (origin.endsWith('folder')) await this.#putFolder();
    if (origin === 'folder') return;
    const store = await stores[this.#store].open(this.shelf, () => undefined);
    const put = (generation: number): Promise<void> =>
      store.import('a/b/v1', filesOf('a/b/v1', generation), metadataOf('a/b/v1', generation));
    if (origin !== 'removed folder') await put(0);
    if (origin === 'replaced') await put(1);
    if (origin.startsWith('removed')) await store.remove('a/b/v1');
    await store.close();
  }

  async #putFolder(): Promise<void> {
    for (const [path, content] of Object.entries({
      ...filesOf('a/b/v1', 0),
      'metadata.json': metadataOf('a/b/v1', 0),
    })) {
      await mkdir(dirname(join(this.shelf, 'ko', path)), { recursive: true });
      await writeFile(join(this.shelf, 'ko', path), content);
    }
  }

  /** One change that is killed at a step; with -1 it is not. @returns the steps when it was not. */
  async changeAt(step: number, op: Change['op']): Promise<string[]> {
    const child = this.#start('at', String(step), op);
    const ended = once(child, 'exit') as Promise<[number | null, string | null]>;
    const output = await text(child.stdout);
    const [code, signal] = await ended;
    if (step === -1 ? code !== 0 : signal !== 'SIGKILL') throw new Error(`it ended with ${String(code ?? signal)}`);
    return step === -1 ? (JSON.parse(output) as string[]) : [];
  }

  /**
   * One change that goes on to its end. What a process has written is in the files whether it is killed or not, so before
   * a step they are as its kill there leaves them.
   * @returns by step, copies of the site as it was then, in its folder.
   */
  async copiedAtSteps(
    op: Change['op'],
    wanted: (step: string, index: number) => boolean,
  ): Promise<{ step: string; site: CrashSite }[]> {
    const copies: { step: string; site: CrashSite }[] = [];
    let isCopied = false;
    let steps = 0;
    const store = await stores[this.#store].open(this.shelf, (step) => {
      if (!isCopied || !wanted(step, steps++)) return;
      const path = join(this.#folder.path, `copy-${copies.length}`);
      mkdirSync(path);
      cpSync(this.shelf, join(path, 'shelf'), { recursive: true, preserveTimestamps: true });
      cpSync(this.#journalPath, join(path, 'journal'));
      copies.push({ step, site: new CrashSite(this.#store, { ...this.#folder, path }, this.cache) });
    });
    const change = nextChange(this.#journal, op);
    isCopied = true;
    await makeChange(store, this.#journal, change);
    isCopied = false;
    await store.close();
    return copies;
  }

  /** Changes without end, killed some milliseconds after they began, or after the process did. */
  async changeUntilKilled(seed: number, after: number, from: 'spawn' | 'ready'): Promise<void> {
    const child = this.#start('random', String(seed));
    if (from === 'ready') await once(child.stdout, 'data');
    await pause(after);
    child.kill('SIGKILL');
    const [, signal] = (await once(child, 'exit')) as [unknown, string];
    if (signal !== 'SIGKILL') throw new Error('it ended by itself');
  }

  /**
   * Checks the folder as the crash left it, and again after the store has opened it.
   * @returns what is wrong; nothing for a store that keeps its promises.
   */
  async problems(): Promise<string[]> {
    const found = await this.#check();
    if (found.leftovers.length > 0) this.interruptions++;
    const crashed = judge(found, this.#journal.possible());
    if (this.#store === 'naive' || crashed.problems.length > 0) return crashed.problems;
    for (const [id, state] of crashed.states) this.#journal.found(id, state);
    const opened = await this.#openAgain();
    const findings = await this.#check();
    const { problems } = judge(findings, this.#journal.possible());
    const lost = lostOf(findings, this.#journal.previous()).map((id) => `what ${id} was before is not kept`);
    return [...opened, ...problems, ...lost, ...findings.leftovers.map((name) => `left after a start: ${name}`)];
  }

  acknowledgements(): number {
    return this.#journal.acknowledgements();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#folder[Symbol.asyncDispose]();
  }

  #start(...mode: readonly string[]): ChildProcessByStdio<null, Readable, null> {
    return spawn(process.execPath, [CHANGER, this.#store, this.shelf, this.#journalPath, ...mode], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, NODE_COMPILE_CACHE: this.cache },
    });
  }

  async #check(isClosed = true): Promise<Findings> {
    return await stores[this.#store].check(this.shelf, isClosed);
  }

  /** "Startup with damaged shelf entries: starts, reports them": after a crash there are none. */
  async #openAgain(): Promise<string[]> {
    await using shelf = await stores[this.#store].read(this.shelf);
    const listed = (await shelf.list()).map(({ id }) => koKey(id)).sort();
    const found = [...(await this.#check(false)).packages.keys()].sort();
    const differing = listed.join() === found.join() ? [] : [`the shelf lists ${listed.join()}, not ${found.join()}`];
    // A folder whose KO was imported just before the crash is still there, and named as a second one of its id.
    const damage = shelf.damage().filter(({ cause }) => !cause.includes('a package that was imported'));
    return [...differing, ...damage.map(({ where, cause }) => `${where}: ${cause}`)];
  }
}
