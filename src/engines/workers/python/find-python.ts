/** The `python3` of this machine. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { messageOf } from '../../../lib/errors.ts';

const run = promisify(execFile);

export interface Python {
  /** The interpreter, absolute. */
  readonly program: string;
  readonly version: string;
  /** Folders and files of the interpreter and its libraries. */
  readonly folders: readonly string[];
}

const PROBE = `import sys
assert sys.version_info >= (3, 9), "Python is " + sys.version.split()[0]
import json, os, sysconfig
paths = sysconfig.get_paths()
folders = [os.path.realpath(sys.executable), paths["stdlib"], paths["platstdlib"], sys.prefix, sys.base_prefix, *sys.path]
print(json.dumps({"program": sys.executable, "version": sys.version.split()[0], "folders": [each for each in folders if each]}))`;

/** Why there is none, and what to do, in place of one. `environment` has the PATH. */
export async function findPython(environment: Readonly<Record<string, string>>): Promise<Python | string> {
  try {
    const { stdout } = await run('python3', ['-c', PROBE], { env: environment });
    const { program, version, folders } = JSON.parse(stdout) as Python;
    return { program, version, folders: [...new Set(folders)] };
  } catch (thrown) {
    const found =
      (thrown as NodeJS.ErrnoException).code === 'ENOENT'
        ? 'python3 is not installed'
        : `python3 cannot be used: ${messageOf(thrown).split('\n').at(-2) ?? ''}`;
    return `${found}; install Python 3.9 or newer (Debian: apt-get install python3 python3-venv python3-pip) and start again`;
  }
}
