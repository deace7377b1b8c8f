/** Keeps compiled code for the next start, which then takes less than half the processor time. Any Node can read this file. */
import { lstatSync, mkdirSync } from 'node:fs';
import * as module from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const WRITABLE_BY_OTHERS = 0o022;

/**
 * Beside the packages of the project, or in the user's own cache; nowhere when neither can be had. A folder that
 * `NODE_COMPILE_CACHE` names goes first, and with `NODE_DISABLE_COMPILE_CACHE` there is none; both are of Node.
 */
export function keepCompiledCode() {
  if (module.getCompileCacheDir() !== undefined) return;
  const { FAILED } = module.constants.compileCacheStatus;
  folders().find((folder) => isPrivate(folder) && module.enableCompileCache(folder).status !== FAILED);
}

function folders() {
  const ofProject = fileURLToPath(new URL('../node_modules/.cache/compiled', import.meta.url));
  try {
    return [ofProject, join(homedir(), '.cache/kgrid-activator/compiled')];
  } catch {
    // This user has no home.
    return [ofProject];
  }
}

/** What lies there is run: nobody but this user and root may be able to change it. */
function isPrivate(folder) {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const { uid, mode } = lstatSync(folder);
    return !process.getuid || ((uid === process.getuid() || uid === 0) && (mode & WRITABLE_BY_OTHERS) === 0);
  } catch {
    return false;
  }
}
