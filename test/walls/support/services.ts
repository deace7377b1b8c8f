/** A running service with a knowledge object that attacks it, and one beside it to attack. */
import { chown, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathOf } from '../../acceptance/support/knowledge-grid.ts';
import { uniqueNaan } from '../../acceptance/support/ko.ts';
import type { Ko } from '../../acceptance/support/ko.ts';
import { startService, temporaryFolder } from '../../acceptance/support/service.ts';
import type { OwnService } from '../../acceptance/support/service.ts';
import { descendantsOf } from '../../runtimes/support/processes.ts';
import { runtimeKo } from '../../runtimes/support/runtime-ko.ts';
import { until } from '../../runtimes/support/until.ts';
import type { Target } from './attempt.ts';
import type { Outcomes, Ways } from './outcomes.ts';
import { AS_NOBODY, NOBODY, makeTarget } from './target.ts';

export interface Attacked extends AsyncDisposable {
  readonly service: OwnService;
  /** Files that no attempt has touched yet. */
  readonly target: () => Promise<Target>;
  /** The service has ended afterwards. */
  readonly outcomes: (ways: Ways) => Promise<Outcomes>;
}

/** The service as an attacker's knowledge object meets it. */
export interface Door {
  readonly naan: string;
  /** Puts it on the shelf and waits for it. @returns why it is not active; empty where it is. */
  readonly activate: (ko: Ko) => Promise<string>;
  /** @throws Error with the answer where there is no result. */
  readonly call: (ko: Ko, input: unknown) => Promise<unknown>;
}

/** How code of one kind gets into the service. */
export interface Attacker {
  readonly engine: 'node' | 'python';
  readonly env?: Readonly<Record<string, string>>;
  /** It may know its own files only once it runs. */
  readonly begin: (door: Door) => Promise<{
    readonly own: Target['own'];
    readonly outcomes: (ways: Ways) => Promise<Outcomes>;
  }>;
}

export interface AttackOptions {
  readonly args?: readonly string[];
  /** Not root, also where the tests are. */
  readonly isUser?: boolean;
}

const MARKER = 'marker-of-others';
const BESIDE = {
  python: { 'src/main.py': `import os\n# ${MARKER}\ndef run(_): return os.getpid()\n` },
  node: { 'src/index.js': `// ${MARKER}\nmodule.exports = () => process.pid;\n` },
};

export async function attackedService(attacker: Attacker, options: AttackOptions = {}): Promise<Attacked> {
  const { engine, env } = attacker;
  const stack = new AsyncDisposableStack();
  const as = options.isUser === true && process.getuid?.() === 0 ? AS_NOBODY : undefined;
  const home = stack.use(await temporaryFolder());
  const shelf = join(home.path, 'shelf');
  const password = join(home.path, 'password');
  await mkdir(shelf);
  await writeFile(password, `${MARKER}\n`, { mode: 0o600 });
  if (as !== undefined) for (const each of [home.path, shelf, password]) await chown(each, NOBODY, NOBODY);
  const service = stack.use(
    await startService({
      shelf,
      args: ['--runtimes', engine, ...(options.args ?? [])],
      env: { HOME: home.path, SECRET: MARKER, KGRID_PASSWORD_FILE: password, KGRID_USER: 'ann', ...env },
      ...(as !== undefined && { as }),
    }),
  );
  const naan = uniqueNaan();
  const door: Door = {
    naan,
    async activate(ko) {
      await service.add(ko);
      await service.reload(ko);
      return until('it is decided', async () => {
        const { status, detail = '' } = (await service.get(`/endpoints${pathOf(ko)}`)).object;
        if (status === 'ACTIVATED') return '';
        return status === 'LOADED' ? undefined : String(detail);
      });
    },
    async call(ko, input) {
      const { object } = await service.post(pathOf(ko), input);
      if (!('result' in object)) throw new Error(JSON.stringify(object));
      return object['result'];
    },
  };
  const beside = runtimeKo({ naan, name: 'beside', engine, code: BESIDE[engine] });
  await door.activate(beside);
  const sibling = Number(await door.call(beside, []));
  const { own, outcomes } = await attacker.begin(door);
  const others = stack.use(
    await makeTarget({
      activator: service.pid,
      sibling,
      marker: MARKER,
      own,
      tcp: Number(new URL(service.url).port),
      as,
    }),
  );
  const files = { shelf, password, ...(await markedFiles(shelf)) };
  return {
    service,
    async outcomes(ways) {
      const all = await outcomes(ways);
      await service.stop();
      return all;
    },
    async target() {
      const processes = [service.pid, ...(await descendantsOf(service.pid))];
      return { ...(await others.fresh()), ...files, processes };
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** The code of the other knowledge object, on the shelf and where its worker has it. */
async function markedFiles(shelf: string): Promise<{ stored: string; other: string }> {
  const found: string[] = [];
  for (const entry of await readdir(shelf, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile() && (await readFile(path, 'utf8').catch(() => '')).includes(MARKER)) found.push(path);
  }
  const isStored = (path: string): boolean => path.includes('/.kgrid/objects/');
  const [stored, other] = [found.find(isStored), found.find((path) => !isStored(path))];
  if (stored === undefined || other === undefined) throw new Error(`only ${found.join(', ')}`);
  return { stored, other };
}
