/**
 * Podman, which builds images as buildah does, with storage of its own below a temporary folder. No registry is asked: the
 * base is made of Debian's packages, the Node that runs the tests, and the npm of this machine.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { realpathSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { debianProgram } from '../../support/debian-program.ts';

export const BASE = 'localhost/kgrid-base';
const NPM = '/usr/local/lib/node_modules/npm';

export interface Podman extends AsyncDisposable {
  /** Runs a command of podman to its end; gives what it printed. */
  readonly run: (...args: string[]) => Promise<string>;
  /** Starts one that goes on, and resolves with what it will end with, once it has printed a line like this. */
  readonly start: (line: RegExp, ...args: string[]) => Promise<{ readonly ended: Promise<number | null> }>;
}

export async function startPodman(): Promise<Podman> {
  const program = debianProgram('podman');
  const runtime = debianProgram('runc');
  const folder = await mkdtemp(join(tmpdir(), 'kgrid-image-'));
  // The limits of this process, which podman cannot always raise.
  writeFileSync(join(folder, 'containers.conf'), '[containers]\ndefault_ulimits = []\n');
  const places = ['--root', join(folder, 'images'), '--runroot', join(folder, 'run'), '--tmpdir', join(folder, 'tmp')];
  // Nothing of systemd is needed.
  const without = ['--cgroup-manager', 'cgroupfs', '--events-backend', 'none', '--runtime', runtime];
  const env = { ...process.env, CONTAINERS_CONF: join(folder, 'containers.conf') };
  const all = (args: readonly string[]): string[] => [...places, ...without, ...args];
  const run = (...args: string[]): Promise<string> => runToEnd(program, all(args), env);
  const dispose = async (): Promise<void> => {
    await run('rm', '--all', '--force', '--time', '0', '--volumes');
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await makeBase(join(folder, 'base.tar'));
    await run('import', '--quiet', '--change', `ENV PATH=${PATHS}`, join(folder, 'base.tar'), BASE);
    return { run, start: (line, ...args) => startUntil(line, program, all(args), env), [Symbol.asyncDispose]: dispose };
  } catch (thrown) {
    await dispose();
    throw thrown;
  }
}

const PATHS = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** As the base that the Dockerfile names has it: Node and npm below /usr/local of a small Debian. */
async function makeBase(archive: string): Promise<void> {
  // The npm that is a script: <package>/bin/npm-cli.js.
  const npm = dirname(dirname(realpathSync(debianProgram('npm'))));
  await runToEnd(
    debianProgram('mmdebstrap'),
    [
      ...['--variant=minbase', '--quiet'],
      ...['--customize-hook=mkdir -p "$1/usr/local/lib/node_modules"'],
      `--customize-hook=copy-in ${realpathSync(process.execPath)} /usr/local/bin`,
      `--customize-hook=copy-in ${npm} ${dirname(NPM)}`,
      `--customize-hook=ln -s ${NPM}/bin/npm-cli.js "$1/usr/local/bin/npm"`,
      ...['bookworm', archive],
    ],
    process.env,
  );
}

async function startUntil(
  line: RegExp,
  program: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<{ readonly ended: Promise<number | null> }> {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'], env });
  const ended = once(child, 'close').then(() => child.exitCode);
  const lines = createInterface({ input: child.stdout });
  await new Promise<void>((found, failed) => {
    const said: string[] = [];
    lines.on('line', (each) => {
      said.push(each);
      if (line.test(each)) found();
    });
    lines.once('close', () =>
      failed(new Error(`It has ended without a line like ${String(line)}:\n${said.join('\n')}`)),
    );
  });
  return { ended };
}

async function runToEnd(program: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<string> {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], env });
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  if (child.exitCode !== 0) throw new Error(`${program} ${args.join(' ')}: ${child.exitCode}\n${out}${err}`);
  return out;
}
