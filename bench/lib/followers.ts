/**
 * Nodes of a fleet without HTTP and endpoints: each holds the index of the shelf, follows its changes, and gives its sign of
 * life, as an activator does. Run as a process, it holds some of them and says what they saw.
 */
import { readFileSync } from 'node:fs';
import { Heartbeat } from '../../src/fleet/heartbeat.ts';
import { Database } from '../../src/shelf/postgres/database.ts';
import { Follower } from '../../src/shelf/postgres/follower.ts';
import { SharedIndex } from '../../src/shelf/postgres/shared-index.ts';

export type FromFollowers =
  | { readonly what: 'loaded'; readonly megabytes: number; readonly processorS: number; readonly milliseconds: number }
  | { readonly what: 'seen'; readonly follower: string; readonly revision: number; readonly at: number };

/** Of this machine, for all processes alike: milliseconds. */
export const now = (): number => performance.timeOrigin + performance.now();

/** Proportional share of this process. */
function megabytes(): number {
  globalThis.gc?.();
  return Number(/^Pss:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/smaps_rollup', 'utf8'))?.[1] ?? 0) / 1024;
}

async function follow(url: string, count: number): Promise<void> {
  const say = (message: FromFollowers): void => void process.send?.(message);
  const before = megabytes();
  const began = performance.now();
  for (let i = 0; i < count; i++) {
    const id = crypto.randomUUID();
    const database = new Database(url, { fleet: 'kgrid' });
    const index = new SharedIndex();
    const follower = new Follower({ database, index, onWarning: (text) => process.stderr.write(`${text}\n`) });
    follower.start();
    await follower.look();
    const node = { id, joined: new Date().toISOString(), name: id, address: '', version: '', settings: {} };
    const heartbeat = new Heartbeat({
      database,
      node: () => node,
      state: () => Promise.resolve({ revision: index.revision, generation: 0, failures: [] }),
      onGeneration: () => undefined,
      onTaken: () => Promise.resolve(),
      onProblem: (cause) => process.stderr.write(`${String(cause)}\n`),
    });
    await heartbeat.beat();
    heartbeat.begin();
    index.onChange = () => {
      say({ what: 'seen', follower: id, revision: index.revision, at: now() });
      void heartbeat.beat();
    };
  }
  const milliseconds = performance.now() - began;
  const { user, system } = process.cpuUsage();
  say({ what: 'loaded', megabytes: megabytes() - before, processorS: (user + system) / 1e6, milliseconds });
  process.on('disconnect', () => process.exit(0));
}

if (import.meta.main) await follow(process.argv[2] ?? '', Number(process.argv[3]));
