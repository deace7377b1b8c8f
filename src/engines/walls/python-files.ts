/** What a Python reads of itself: asked once, since each is laid out in its own way. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { ProgramFiles } from './needed-files.ts';

/** Its folders, and what it has loaded. A `-c` of one line: nothing of it may depend on the folder that it runs in. */
const TELL = `
import json, os, sys, sysconfig
found = sysconfig.get_paths()
paths = {os.path.realpath(found[each]) for each in ('stdlib', 'platstdlib', 'purelib', 'platlib') if found.get(each)}
prefixes = {os.path.realpath(each) for each in (sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix)}
paths |= {os.path.realpath(each) for each in sys.path if each}
# Below these lies more than Python.
paths |= {each for each in prefixes if each not in ('/', '/usr', '/usr/local')}
paths = {each for each in paths if each not in ('/', '/usr', '/usr/local') and os.path.exists(each)}
mapped = set()
with open('/proc/self/maps') as maps:
    for line in maps:
        fields = line.rstrip('\\n').split(None, 5)
        if len(fields) == 6 and fields[5].startswith('/'):
            mapped.add(fields[5])
real = os.path.realpath(sys.executable)
print(json.dumps({
    'execute': [real, *sorted(each for each in mapped if os.path.basename(each).startswith(('ld-', 'ld.')))],
    'read': [*sorted(paths), *sorted(each for each in mapped if '.so' in each)],
}))
`;
/** Milliseconds. */
const MOST = 30_000;

/** @param python absolute path, or a name that is found on the PATH of `env`. @throws Error where it does not run. */
export async function pythonFiles(python: string, env: Readonly<Record<string, string>>): Promise<ProgramFiles> {
  const { stdout } = await promisify(execFile)(python, ['-I', '-c', TELL], {
    env: { ...env },
    timeout: MOST,
    cwd: '/',
  });
  return JSON.parse(stdout) as ProgramFiles;
}
