// What `npm start` runs: plain JavaScript, so that a Node which is too old for the service can still say so.
import { keepCompiledCode } from './compile-cache.js';

const LEAST_NODE = 24;

if (Number(process.versions.node.split('.')[0]) < LEAST_NODE) {
  process.stderr.write(
    `Node ${process.version} is too old: start the service with npm start or kgrid-activator, which use the Node ${LEAST_NODE} that npm installs with them\n`,
  );
  process.exit(1);
}

keepCompiledCode();
await import('./main.ts');
