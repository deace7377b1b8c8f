/** Tries one kind of process in every mode, as each user, and holds the outcomes to what attempts and documents say. */
import { join } from 'node:path';
import { inRound } from '../../support/round.ts';
import { demand } from './demands.ts';
import { demandReasons, demandRow } from './table.ts';
import type { Kind, Target } from './attempt.ts';
import type { Mode } from './modes.ts';
import { bareOutcomes, tryOn } from './outcomes.ts';
import type { Outcomes, Ways } from './outcomes.ts';
import { NO_CAPABILITIES, idleProcess, makeTarget } from './target.ts';
import { USERS } from './users.ts';

export interface Ring {
  readonly kind: Kind;
  /** Of what makes the calls. */
  readonly language: 'node' | 'python';
  /** It gives up the capabilities of root without walls, too. */
  readonly hasNoCapabilities: boolean;
  /** Its program refuses much by itself, also without walls. */
  readonly hasOwnWalls?: boolean;
  readonly run: (mode: Mode, target: Target, ways: Ways, as: readonly string[]) => Promise<Outcomes>;
}

/** Before a command. */
const IN_CONTAINER = [process.execPath, join(import.meta.dirname, 'in-container.ts')];
const NOTHING: Outcomes = new Map();
const MARKER = 'marker-of-others';

export async function ring({ kind, language, hasNoCapabilities, hasOwnWalls = false, run }: Ring): Promise<void> {
  demandReasons(kind);
  for (const { who, as } of USERS) {
    using activator = await idleProcess(MARKER, as);
    using sibling = await idleProcess(MARKER, as);
    await using others = await makeTarget({ activator: activator.pid, sibling: sibling.pid, marker: MARKER, as });
    const bare = async (...less: string[]): Promise<Outcomes> =>
      tryOn(await others.fresh(), (ways) => bareOutcomes(language, ways, [...(as ?? []), ...less]));
    const inMode = async (mode: Mode, container: readonly string[] = []): Promise<Outcomes> => {
      const target = await others.fresh();
      return tryOn(target, (ways) => run(mode, target, ways, [...(as ?? []), ...container]));
    };
    const granted = await bare();
    const rights = hasNoCapabilities ? await bare(...NO_CAPABILITIES) : granted;
    const [off, walls] = [await inMode('off'), await inMode('walls')];
    demand({ kind, who, bare: granted, rights: hasOwnWalls ? NOTHING : rights, off, walls });
    demandRow(kind, 'walls', who, granted, walls);
    demandRow(kind, `no walls, ${who}`, who, granted, off);
    if (inRound(as !== undefined, false)) continue;
    const contained = await inMode('walls', IN_CONTAINER);
    demandRow(kind, 'walls, in a container that refuses Landlock', who, granted, contained);
  }
}
