// @ts-check
/** A short process of its own that tells by its standard output what walls can be laid here: it lays them on itself. */
import { createRequire } from 'node:module';
import { openKernel } from './kernel-calls.js';

const require = createRequire(import.meta.url);

/** @type {import('./find-kernel.ts').Found} */
const found = { landlock: 0, seccomp: false };

/** @param {unknown} thrown */
const codeOf = (thrown) => String(/** @type {NodeJS.ErrnoException} */ (thrown).code ?? thrown);

try {
  require('koffi');
  found.koffi = Object.keys(require.cache).find((path) => path.endsWith('.node'));
} catch (thrown) {
  found.noKoffi = codeOf(thrown);
}
if (found.koffi !== undefined) {
  const kernel = openKernel(found.koffi);
  try {
    kernel.gainNothing();
    const abi = kernel.landlockAbi();
    kernel.enterDomain({ files: 1, network: 0, scopes: 0, rules: [], ports: [] }, []);
    found.landlock = abi;
  } catch (thrown) {
    found.noLandlock = codeOf(thrown);
  }
  try {
    kernel.askSeccomp();
    found.seccomp = true;
  } catch (thrown) {
    found.noSeccomp = codeOf(thrown);
  }
}
process.stdout.write(JSON.stringify(found));
