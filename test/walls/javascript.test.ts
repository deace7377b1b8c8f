/** The javascript sandbox, taken over by somebody who knows a fault of V8. */
import { demand } from './support/demands.ts';
import { bareOutcomes, sandboxOutcomes, tryOn } from './support/outcomes.ts';
import { idleProcess, makeTarget } from './support/target.ts';
import { USERS } from './support/users.ts';

const MARKER = 'marker-of-others';

for (const { who, as } of USERS) {
  using activator = await idleProcess(MARKER, as);
  using sibling = await idleProcess(MARKER, as);
  await using others = await makeTarget({ activator: activator.pid, sibling: sibling.pid, marker: MARKER, as });
  demand({
    kind: 'javascript',
    who,
    bare: await tryOn(await others.fresh(), (ways) => bareOutcomes('node', ways, as)),
    off: await tryOn(await others.fresh(), (ways) => sandboxOutcomes('off', ways, as)),
    walls: await tryOn(await others.fresh(), (ways) => sandboxOutcomes('walls', ways, as)),
  });
}
