// What `npm start` runs: plain JavaScript, so that a Node which is too old for the service can still say so.
import { keepCompiledCode } from './compile-cache.js';

const LEAST_NODE = 24;

if (Number(process.versions.node.split('.')[0]) < LEAST_NODE) {
  process.stderr.write(
    `Node ${process.version} is too old: start the service with npm start, which uses the Node ${LEAST_NODE} that npm ci installs\n`,
  );
  process.exit(1);
}

keepCompiledCode();
await import('./main.ts');
