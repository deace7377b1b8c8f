/** The javascript sandbox, taken over by somebody who knows a fault of V8. */
import { sandboxOutcomes } from './support/outcomes.ts';
import { ring } from './support/ring.ts';

await ring({
  kind: 'javascript',
  language: 'node',
  hasNoCapabilities: false,
  run: (mode, _target, ways, as) => sandboxOutcomes(mode, ways, as),
});
