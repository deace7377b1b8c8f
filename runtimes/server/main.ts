/** `node runtimes/server/main.ts --engine node,python [--activator URL]`: as `kgrid runtime`, without any package. */
import { parseArgs } from 'node:util';
import { runRuntimes, whyNot } from './run.ts';

const LEAST_NODE = 24;

if (Number(process.versions.node.split('.')[0]) < LEAST_NODE) {
  console.error(`The runtime needs Node ${LEAST_NODE} or newer`);
  process.exit(1);
}
try {
  const options = { engine: { type: 'string' }, activator: { type: 'string' } } as const;
  const { engine = '', activator } = parseArgs({ options }).values;
  await runRuntimes(engine, activator, process.env, interrupted());
  process.exit(0);
} catch (thrown) {
  const { message, exitCode } = whyNot(thrown);
  console.error(message);
  process.exit(exitCode);
}

/** Resolves when it is to stop; who does not want to wait for that asks again. */
function interrupted(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const)
      process.on(signal, () => {
        resolve();
        process.on(signal, () => process.exit(1));
      });
  });
}
