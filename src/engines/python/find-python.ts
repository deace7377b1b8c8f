/** The `python3` of this machine. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { messageOf } from '../../lib/errors.ts';

const run = promisify(execFile);

export interface Python {
  /** The interpreter, absolute. */
  readonly program: string;
  readonly version: string;
  /** Files and folders that it needs to run: itself, its standard library, and the libraries that these load. */
  readonly files: readonly string[];
  /** Folders with what is installed beside the standard library, such as pip. */
  readonly packages: readonly string[];
}

const PROBE = `import sys
assert sys.version_info >= (3, 9), "Python is " + sys.version.split()[0]
import json, os, site, sysconfig
paths = sysconfig.get_paths()
packages = {*site.getsitepackages(), paths["purelib"], paths["platlib"]}
files = {os.path.realpath(sys.executable), os.path.join(sys.prefix, "pyvenv.cfg"), sysconfig.get_config_var("LIBDIR")}
files |= {paths["stdlib"], paths["platstdlib"], *sys.path}
packages |= {each for each in files if each and each.endswith("-packages")}
print(json.dumps({
    "program": sys.executable,
    "version": sys.version.split()[0],
    "files": sorted(each for each in files - packages if each),
    "packages": sorted(packages),
}))`;

/** Why there is none, and what to do, in place of one. `environment` has the PATH. */
export async function findPython(environment: Readonly<Record<string, string>>): Promise<Python | string> {
  try {
    const { stdout } = await run('python3', ['-c', PROBE], { env: environment });
    return JSON.parse(stdout) as Python;
  } catch (thrown) {
    const found =
      (thrown as NodeJS.ErrnoException).code === 'ENOENT'
        ? 'python3 is not installed'
        : `python3 cannot be used: ${messageOf(thrown).split('\n').at(-2) ?? ''}`;
    return `${found}; install Python 3.9 or newer (Debian: apt-get install python3 python3-venv python3-pip) and start again`;
  }
}
