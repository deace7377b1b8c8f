/** A Prometheus for a test, in a folder of its own. Debian's package is unpacked into the cache where it is missing. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync, mkdtempSync, renameSync, rmSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { stringify } from 'yaml';
import { PROJECT } from '../../acceptance/support/service.ts';

const CACHE = join(PROJECT, 'node_modules/.cache/prometheus');

/** The folder with `prometheus` and `promtool`; that of `KGRID_TEST_PROMETHEUS` comes first. */
export function prometheusPrograms(): string {
  const found = find();
  if (found !== undefined) return found;
  process.stderr.write("Prometheus is not installed: unpacking Debian's package prometheus into node_modules/.cache\n");
  unpack();
  const unpacked = find();
  if (unpacked === undefined)
    throw new Error('The tests of metrics need Prometheus: install it, as by apt-get install prometheus');
  return unpacked;
}

function find(): string | undefined {
  const named = process.env['KGRID_TEST_PROMETHEUS'];
  const inPath = (process.env['PATH'] ?? '').split(':');
  return [...(named === undefined ? [] : [named]), ...inPath, join(CACHE, 'usr/bin')].find(
    (folder) => existsSync(join(folder, 'prometheus')) && existsSync(join(folder, 'promtool')),
  );
}

/** Installed, it would start as a service of the machine. */
function unpack(): void {
  const folder = mkdtempSync(join(tmpdir(), 'kgrid-prometheus-'));
  try {
    const run = (program: string, ...args: string[]): boolean =>
      spawnSync(program, args, { cwd: folder, stdio: ['ignore', 2, 2] }).status === 0;
    if (!run('apt-get', 'download', 'prometheus')) {
      const asRoot = process.getuid?.() === 0 ? ['apt-get'] : ['sudo', '-n', 'apt-get'];
      run('env', ...asRoot, 'update');
      run('apt-get', 'download', 'prometheus');
    }
    const [archive] = globSync(join(folder, '*.deb'));
    if (archive === undefined || !run('dpkg-deb', '--extract', archive, join(folder, 'all'))) return;
    mkdirSync(join(CACHE, 'usr/bin'), { recursive: true });
    for (const program of ['promtool', 'prometheus']) {
      // Whole or not at all, also beside another that does the same.
      const here = join(CACHE, `${program}-${process.pid}`);
      spawnSync('cp', [join(folder, 'all/usr/bin', program), here]);
      renameSync(here, join(CACHE, 'usr/bin', program));
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What promtool says, with how it ended. */
export function promtool(
  args: readonly string[],
  input = '',
): { readonly status: number | null; readonly said: string } {
  const { status, stdout, stderr } = spawnSync(join(prometheusPrograms(), 'promtool'), args, {
    input,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  });
  return { status, said: stdout + stderr };
}

export interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [number, string];
}

export interface Rule {
  readonly name: string;
  readonly health: string;
  readonly lastError?: string;
  readonly query: string;
}

export interface Prometheus extends AsyncDisposable {
  query(expression: string): Promise<readonly Sample[]>;
  rules(): Promise<readonly Rule[]>;
  /** Waits until the expression gives something. */
  until(expression: string): Promise<readonly Sample[]>;
}

export interface PrometheusOptions {
  /** Address of the service. */
  readonly target: string;
  readonly rules: readonly string[];
  readonly interval: string;
}

const PATIENCE_MS = 60_000;

export async function startPrometheus({ target, rules, interval }: PrometheusOptions): Promise<Prometheus> {
  const programs = prometheusPrograms();
  const folder = mkdtempSync(join(tmpdir(), 'kgrid-prometheus-'));
  const file = join(folder, 'prometheus.yaml');
  const { host } = new URL(target);
  const config = {
    global: { scrape_interval: interval, scrape_timeout: interval, evaluation_interval: interval },
    rule_files: rules,
    scrape_configs: [
      { job_name: 'kgrid', metrics_path: '/actuator/prometheus', static_configs: [{ targets: [host] }] },
    ],
  };
  writeFileSync(file, stringify(config));
  const url = `http://127.0.0.1:${await freePort()}`;
  const child = spawn(
    join(programs, 'prometheus'),
    [
      `--config.file=${file}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=${new URL(url).host}`,
    ],
    { stdio: ['ignore', 'ignore', 'pipe'], cwd: folder },
  );
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  const ended = once(child, 'close');
  const kill = (): void => void child.kill('SIGKILL');
  process.on('exit', kill);

  const ask = async <T>(path: string): Promise<T> => {
    const answer = await fetch(`${url}/api/v1/${path}`);
    const { status, data, error } = (await answer.json()) as { status: string; data: T; error?: string };
    if (status !== 'success') throw new Error(`${path}: ${error ?? status}`);
    return data;
  };
  const query = async (expression: string): Promise<readonly Sample[]> =>
    (await ask<{ result: Sample[] }>(`query?query=${encodeURIComponent(expression)}`)).result;
  const until = async (expression: string): Promise<readonly Sample[]> => {
    const end = Date.now() + PATIENCE_MS;
    for (;;) {
      const found = await query(expression).catch((thrown: unknown) => {
        // It comes up.
        if (thrown instanceof TypeError && child.exitCode === null) return [];
        throw thrown;
      });
      if (found.length > 0) return found;
      if (Date.now() > end) throw new Error(`${expression} gives nothing. Prometheus says: ${said}`);
      await wait(50);
    }
  };
  return {
    query,
    until,
    rules: async () => (await ask<{ groups: { rules: Rule[] }[] }>('rules')).groups.flatMap((group) => group.rules),
    [Symbol.asyncDispose]: async () => {
      process.off('exit', kill);
      kill();
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
