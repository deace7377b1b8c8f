/** The code of a python package that is built: it makes any system call by ctypes. */
import { outcomesIn } from './support/outcomes.ts';
import { ring } from './support/ring.ts';

await ring({
  kind: 'build',
  language: 'python',
  hasNoCapabilities: true,
  hasOwnWalls: true,
  run: (mode, target, ways, as) => outcomesIn('build', mode, target, ways, as),
});
