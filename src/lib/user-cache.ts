import { randomUUID } from 'node:crypto';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * The folder of this user for what can be made again. Containers run as users whom the system does not know: these have
 * no home, and get a new folder each time, of which nobody can know the name before.
 */
export function userCache(name: string, home: () => string = homedir): string {
  try {
    return join(home(), '.cache', name);
  } catch {
    return join(tmpdir(), `${name}-${randomUUID()}`);
  }
}
