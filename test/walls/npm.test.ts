/** An install script of a package for node, which brings native code. */
import { outcomesIn } from './support/outcomes.ts';
import { ring } from './support/ring.ts';

await ring({
  kind: 'npm',
  language: 'node',
  hasNoCapabilities: false,
  run: (mode, target, ways, as) => outcomesIn('npm', mode, target, ways, as),
});
