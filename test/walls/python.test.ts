/** A worker of the engine python: its code makes any system call by ctypes. */
import { outcomesIn } from './support/outcomes.ts';
import { ring } from './support/ring.ts';

await ring({
  kind: 'python',
  language: 'python',
  hasNoCapabilities: true,
  run: (mode, target, ways, as) => outcomesIn('python-worker', mode, target, ways, as),
});
