/** A worker of the engine node, whose code got past Node’s permission model to any system call. */
import { outcomesIn } from './support/outcomes.ts';
import { ring } from './support/ring.ts';

await ring({
  kind: 'node',
  language: 'node',
  hasNoCapabilities: false,
  run: (mode, target, ways, as) => outcomesIn('node-worker', mode, target, ways, as),
});
