/** The thread of the schemas, which ends where a value, or the name of the file of a schema, says so: `"once <path>"` until that file is there. */
import { existsSync, writeFileSync } from 'node:fs';
import { parentPort } from 'node:worker_threads';
import type { ThreadJob } from '../../../src/execution/validation/schema-thread.ts';

function ends(job: ThreadJob[number]): boolean {
  if (job.kind === 'compile') return job.question.file === 'end.yaml';
  const path = /^"once (.+)"$/.exec(job.values[0] ?? '')?.[1];
  if (path === undefined || existsSync(path)) return job.values.includes('"end"');
  writeFileSync(path, '');
  return true;
}

parentPort?.on('message', (jobs: ThreadJob) => {
  if (jobs.some(ends)) process.exit();
});
await import('../../../src/execution/validation/schema-thread.ts');
