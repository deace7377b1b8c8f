/** Which files of tests run in one process: its start, the loading of modules, and a service for it, cost more than most of them. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';

/** What belongs to the whole process or its database, or is measured of it: a file that speaks of it has one of its own. */
const OF_THE_PROCESS =
  /node:(child_process|worker_threads|v8|vm)|\bprocess\.|\bmock\.|performance\.now|[Ff]ootprint|[Gg]rowth|[Mm]emoryUsage|registerHooks|(before|after)Each|^(?:const|let) .*startService\(|startKgrid|Sandbox|[Pp]ostgres/m;

/** Files that ask a service of their process that is a process itself: what else happens in theirs is nothing to them. */
const OF_A_SERVICE: readonly (readonly [name: string, call: RegExp])[] = [
  ['batches', /the(Batch|Hasty|Worker)Service\(\)/],
  ['fleet', /theFleet\(\)/],
  ['hosts', /theHostsService\(\)/],
  ['workers', /theWorkersService\(\)/],
];

/** By the name of their process; the first whose files it is. */
const SHARED: readonly (readonly [name: string, isOf: (path: string, text: string) => boolean])[] = [
  ['acceptance', (path, text) => path.startsWith('test/acceptance/') && /the(?:Own)?Service\(\)/.test(text)],
  ['acceptance-alone', (path) => path.startsWith('test/acceptance/')],
  ['runtimes', (path) => path.startsWith('test/runtimes/')],
  ['engines', (path) => /^(src\/engines|runtimes)\//.test(path)],
  ['commands', (path) => path.startsWith('test/cli/')],
  // Commands that run in this process change its working directory.
  [
    'units',
    (path, text) =>
      !text.includes('kgrid(') && /^(src|cli|bench|test\/(access|conformance|documents|support|text))\//.test(path),
  ],
];

/** The shared process of a file; undefined where it has one of its own. */
export function sharedProcessOf(path: string, text: string): string | undefined {
  const ofService = OF_A_SERVICE.find(([, call]) => call.test(text));
  if (ofService !== undefined) return ofService[0];
  if (OF_THE_PROCESS.test(text)) return undefined;
  return SHARED.find(([, isOf]) => isOf(path, text))?.[0];
}

/** What cannot be loaded is named: the process has the name of all of them. */
const importOf = (file: string, name: string): string =>
  `await import(${JSON.stringify(pathToFileURL(file).href)}).catch((cause) => {
  throw new Error(${JSON.stringify(`${name}: `)} + String(cause), { cause });
});
`;

const LOADED_TOGETHER = pathToFileURL(join(import.meta.dirname, 'loaded-together.ts')).href;

const together = (name: string, imports: readonly string[]): string =>
  `import { loadedTogether } from ${JSON.stringify(LOADED_TOGETHER)};
await loadedTogether(${JSON.stringify(name)}, async () => {
${imports.join('')}});
`;

/** The same tests in fewer processes: in place of files that share one, a module that imports them all. */
export class SharedProcesses implements Disposable {
  readonly files: readonly string[];
  readonly #folder = mkdtempSync(join(tmpdir(), 'kgrid-tests-'));

  constructor(files: readonly string[], project: string) {
    const groups = new Map<string, string[]>();
    for (const file of files) {
      const name = sharedProcessOf(relative(project, file), readFileSync(file, 'utf8'));
      const key = name === undefined ? file : join(this.#folder, `${name}.test.mjs`);
      groups.set(key, [...(groups.get(key) ?? []), file]);
    }
    for (const [key, members] of groups) {
      const imports = members.map((file) => importOf(file, relative(project, file)));
      if (key.startsWith(this.#folder)) writeFileSync(key, together(basename(key, '.test.mjs'), imports));
    }
    // They take long, though not as long as the first: begun late, one of them would be left over at the end.
    const isOwn = (file: string): number => (file.startsWith(this.#folder) ? 0 : 1);
    const [longest, ...rest] = groups.keys();
    this.files = [...(longest === undefined ? [] : [longest]), ...rest.sort((a, b) => isOwn(a) - isOwn(b))];
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
