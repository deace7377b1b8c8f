/** What a fleet says of itself: how far each of its nodes is, and what is not as it should be. */
import { messageOf } from '../lib/errors.ts';
import { LIVE_FOR_MS } from '../shelf/store/nodes.ts';
import { differencesOf } from './nodes.ts';
import type { FleetNode } from './nodes.ts';

/** What the health says of it. */
export interface FleetHealth {
  readonly status: 'UP' | 'DOWN';
  readonly details: Readonly<Record<string, unknown>>;
}

/** What is measured of it, as one of its nodes knows it. */
export interface FleetFigures {
  readonly fleet: string;
  readonly name: string;
  /** Of the node. */
  readonly id: string;
  readonly generation: number;
  readonly isUp: boolean;
  readonly nodes: { readonly live: number; readonly silent: number };
  /** Knowledge objects that are to be active and run on no node. */
  readonly runNowhere: number;
  /** Whether its database is another than it was, and no operator has confirmed that. */
  readonly hasOtherHistory: boolean;
}

/** A change that nodes did not make in time. */
export interface Late {
  readonly generation: number;
  /** By their names. */
  readonly nodes: readonly string[];
}

/** How far a fleet is, and each of its nodes. */
export interface FleetReport {
  readonly fleet: string;
  /** Of the shelf. */
  readonly revision: number;
  /** Of the activation. */
  readonly generation: number;
  readonly nodes: readonly (FleetNode & {
    readonly isThis: boolean;
    readonly isLive: boolean;
    readonly behind: { readonly revisions: number; readonly generations: number };
  })[];
}

const isLive = ({ age }: FleetNode): boolean => age * 1000 < LIVE_FOR_MS;

/** `id`: of the node that is asked. */
export function reportOf(
  fleet: string,
  latest: { readonly revision: number; readonly generation: number },
  nodes: readonly FleetNode[],
  id: string,
): FleetReport {
  return {
    fleet,
    ...latest,
    nodes: nodes.map((each) => ({
      ...each,
      isThis: each.id === id,
      isLive: isLive(each),
      behind: {
        revisions: Math.max(0, latest.revision - each.revision),
        generations: Math.max(0, latest.generation - each.generation),
      },
    })),
  };
}

/**
 * @param own details of the node that is asked.
 * @param more nodes that did not make the last change in time; why this one is behind; what the database may have lost.
 */
export function healthOf(
  own: Readonly<Record<string, unknown>>,
  nodes: readonly FleetNode[],
  more: { readonly late: Late; readonly problem: unknown; readonly doubt?: string | undefined },
): FleetHealth {
  const live = nodes.filter(isLive);
  const differing = differencesOf(live);
  const failures = live.flatMap(({ name, failures: own }) => own.map((each) => ({ node: name, ...each })));
  const nowhere = failingOnAll(live);
  const { late } = more;
  const behind = late.nodes.filter((each) =>
    live.some(({ name, generation }) => name === each && generation < late.generation),
  );
  const isWhole = Object.keys(differing).length + failures.length + behind.length === 0;
  return {
    status: isWhole && more.problem === undefined && more.doubt === undefined ? 'UP' : 'DOWN',
    details: {
      ...own,
      nodes: live.length,
      ...(nodes.length > live.length && { silent: nodes.filter((each) => !live.includes(each)).map(nameOf) }),
      ...(behind.length > 0 && { behind }),
      ...(nowhere.length > 0 && { runNowhere: nowhere }),
      ...(failures.length > 0 && { failures }),
      ...(Object.keys(differing).length > 0 && { settingsThatDiffer: differing }),
      ...(more.doubt !== undefined && { otherHistory: more.doubt }),
      ...(more.problem !== undefined && { problem: messageOf(more.problem) }),
    },
  };
}

/** Knowledge objects that no node can run. */
function failingOnAll(nodes: readonly FleetNode[]): readonly string[] {
  const [first, ...others] = nodes.map(({ failures }) => new Set(failures.map((each) => each.knowledgeObject)));
  return [...(first ?? [])].filter((each) => others.every((failing) => failing.has(each)));
}

const nameOf = ({ name }: FleetNode): string => name;
