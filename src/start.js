// What `npm start` runs: plain JavaScript, so that a Node which is too old for the service can still say so.
import * as module from 'node:module';
import { fileURLToPath } from 'node:url';

const LEAST_NODE = 24;

if (Number(process.versions.node.split('.')[0]) < LEAST_NODE) {
  process.stderr.write(
    `Node ${process.version} is too old: start the service with npm start, which uses the Node ${LEAST_NODE} that npm ci installs\n`,
  );
  process.exit(1);
}

// Compiled code is kept for the next start, which then takes half the time.
module.enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/compiled', import.meta.url)));
await import('./main.ts');
