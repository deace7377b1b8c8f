/** Starts the runtime, says where it listens, and stops it when asked or when whoever started it is gone. */
import { openLog } from './lib/log.ts';
import { codeOf, messageOf } from './lib/errors.ts';
import { watchParent } from './lib/parent.ts';
import { startRuntime } from './runtime.ts';
import { readSettings, SettingsError, withHandedOver, type Settings } from './settings.ts';

const neededNode = 24;

if (Number(process.versions.node.split('.')[0]) < neededNode)
  refuse(`The node runtime needs Node ${neededNode} or newer`);
const given = settle(() => readSettings(process.env));
let end = (): void => process.exit(0);
const settings = given.endWithStdin ? withHandedOver(given, await watchParent(() => end())) : given;
const log = openLog(settings.debug);
process.removeAllListeners('warning').on('warning', ({ message }) => log.debug('warning', { message }));
const runtime = await startRuntime(settings, log).catch((error: unknown) => refuse(startProblem(error, settings)));
log.announce({ event: 'listening', url: runtime.url });

end = (): void => {
  runtime.kill();
  process.exit(0);
};

// Node would open its debugger, to which any process of this user can send code.
process.on('SIGUSR1', () => undefined);

let stopping = false;
for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.on(signal, () => {
    if (stopping) {
      runtime.kill();
      process.exit(1);
    }
    stopping = true;
    void runtime.stop().then(() => process.exit(0));
  });
}

function settle(read: () => Settings): Settings {
  try {
    return read();
  } catch (error) {
    if (error instanceof SettingsError) refuse(error.message);
    throw error;
  }
}

function startProblem(error: unknown, { port, cacheDir }: Settings): string {
  const code = codeOf(error);
  if (code === 'EADDRINUSE') return `KGRID_NODE_ENV_PORT: port ${port} is taken by another program`;
  if (code && ['EACCES', 'EROFS', 'EEXIST', 'ENOTDIR'].includes(code))
    return `KGRID_NODE_CACHE_DIR or KGRID_NODE_ENV_PORT: no access (${cacheDir}, ${port})`;
  return messageOf(error);
}

function refuse(message: string): never {
  console.error(message);
  process.exit(1);
}
