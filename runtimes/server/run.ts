/** Runs runtimes, each with a port of its own, until they are told to stop or what started them is gone. */
import { openLog } from './lib/log.ts';
import { codeOf } from '../../src/engines/supervisor/packages/errors.ts';
import { messageOf } from '../../src/lib/errors.ts';
import { watchParent } from './lib/parent.ts';
import { startRuntime } from './runtime.ts';
import type { Runtime } from './runtime.ts';
import { endsWithStdin, ENGINES, readSettings, SettingsError, withHandedOver } from './settings.ts';
import type { EngineName, Settings } from './settings.ts';

/**
 * `engines`: names, with commas between them. `activator`: its address, in place of that in the environment. Ends after
 * `interrupted`. @throws SettingsError, or an error that `whyNot` explains.
 */
export async function runRuntimes(
  engines: string,
  activator: string | undefined,
  given: Readonly<Record<string, string | undefined>>,
  interrupted: Promise<unknown>,
): Promise<void> {
  const environment = activator === undefined ? given : { ...given, KGRID_PROXY_ADAPTER_URL: activator };
  const all = enginesOf(engines).map((engine) => readSettings(environment, engine));
  const { promise: left, resolve: onLeft } = Promise.withResolvers<void>();
  const handedOver = endsWithStdin(environment) ? await watchParent(onLeft) : undefined;
  const log = openLog(all.some(({ debug }) => debug));
  process.removeAllListeners('warning').on('warning', ({ message }) => log.debug('warning', { message }));
  const runtimes: Runtime[] = [];
  const kill = (): void => runtimes.forEach((runtime) => runtime.kill());
  // Node would open its debugger, to which any process of this user can send code.
  process.on('SIGUSR1', () => undefined);
  for (const settings of all) {
    const own = handedOver === undefined ? settings : withHandedOver(settings, handedOver);
    const runtime = await startRuntime(own, log).catch((thrown: unknown) => {
      kill();
      throw new NotStarted(startProblem(thrown, settings));
    });
    runtimes.push(runtime);
    log.announce({ event: 'listening', url: runtime.url });
  }
  await Promise.race([left, interrupted]);
  await Promise.all(runtimes.map((runtime) => runtime.stop()));
}

/** What to print of an error, and the exit code. */
export const whyNot = (thrown: unknown): { message: string; exitCode: 1 | 2 } => ({
  message: messageOf(thrown),
  exitCode: thrown instanceof NotStarted ? 1 : 2,
});

class NotStarted extends Error {}

function enginesOf(said: string): EngineName[] {
  const wanted = [...new Set(said.split(',').map((each) => each.trim()))].filter((each) => each !== '');
  const found = wanted.flatMap((each) => ENGINES.find((engine) => engine === each) ?? []);
  if (wanted.length > 0 && found.length === wanted.length) return found;
  throw new SettingsError(`--engine must be ${ENGINES.join(', ')} or both with a comma between, but is '${said}'`);
}

function startProblem(error: unknown, { engine, host, port, cacheDir }: Settings): string {
  const code = codeOf(error);
  const prefix = `KGRID_${engine.toUpperCase()}`;
  if (code === 'EADDRINUSE') return `${prefix}_ENV_PORT: port ${port} is taken by another program (${host}:${port})`;
  if (code !== undefined && ['EACCES', 'EROFS', 'EEXIST', 'ENOTDIR'].includes(code))
    return `${prefix}_CACHE_DIR or ${prefix}_ENV_PORT: no access (${cacheDir}, ${port})`;
  return messageOf(error);
}
