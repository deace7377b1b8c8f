/**
 * The figures by which a pool judges, in one table, and pure functions that decide by them and by plain snapshots.
 * What is no judgement stands beside its use. Nothing here keeps a state or changes one.
 */
import { LOWEST_PRIORITY } from './process.ts';

const KB = 1024;
const MB = 1024 * KB;

export type Policy = ReturnType<typeof policyFor>;

/** `cores`: how many threads of work the machine runs at once. */
export const policyFor = (cores: number) => ({
  /** A batch should end well before a sandbox counts as stuck. */
  batchMicroseconds: 20_000,
  batchCalls: 32,
  /** Work that stands in a process at most; the rest waits where it can be put in order, and ends at its limit. */
  backlogMicroseconds: 50_000,

  /** After so many calls an endpoint is known, and leaves probation the first time where they are quick; … */
  knownAfterCalls: 20,
  /** … and before, this is what one of its calls is expected to take. What takes less is quick. */
  unknownMicroseconds: 20_000,

  /** Silence after which a shared worker is suspected, … */
  silentMs: 75,
  /** … of work since then after which it is evicted where a call is among what it has, … */
  stuckMs: 50,
  /** … and of silence after which it is evicted though it got no core to work on. A process that has work gets to one by then. */
  starvedMs: 1000,

  /** The standby, which takes some 45 MB, is ended so long after the last look at the clock. */
  standbyIdleMs: 30_000,
  /** Place on the cores of the shared workers. */
  fastPriority: 0,
  /** False where they are ended after a rest, as the standby is. */
  keepsProcesses: true,
  /** One stands by, and another process loads code. Otherwise there is none before there is work for it. */
  hasHelpers: true,

  /** Processes on probation that may use a core at once, so that one endless loop does not hold up all that is merely slow. */
  probationRunning: Math.max(4, 2 * cores),

  /**
   * Characters of JSON above which a body is large. The worst of this size, arrays of small objects with keys of their
   * own, was measured to be parsed in 3 ms, in 9 ms on a busy machine; a sandbox is suspected after 75.
   */
  largeCharacters: 64 * KB,

  /** A shared worker above this is replaced. */
  processBytes: 1024 * MB,
});

/** Place on the cores of code that comes after all else, and of what ran into its limit the last time. A process never gets a better one. */
export const PROBATION_PRIORITY = 5;
const LAST_PRIORITY = LOWEST_PRIORITY;

/** For records, of which nobody waits for one alone: on the cores they come after single calls. */
export const policyForRecords = (cores: number): Policy => ({
  ...policyFor(cores),
  // What a batch costs the main process is short beside what single calls wait for anyway.
  batchCalls: 1024,
  batchMicroseconds: 10_000,
  standbyIdleMs: 5000,
  fastPriority: PROBATION_PRIORITY,
  keepsProcesses: false,
});

/** For some knowledge objects that have processes of their own: as few as run their code, and none after a rest. */
export const policyForSome = (policy: Policy): Policy => ({ ...policy, hasHelpers: false, keepsProcesses: false });

// ----- who goes first -----

/** What is known of an endpoint. */
export interface CostEstimate {
  /** Calls that it answered since it was last found at fault. */
  readonly trust: number;
  /** Microseconds that one of its calls is expected to take. */
  readonly pace: number;
  /** Its last call ran into a limit. */
  readonly timedOut: boolean;
}

/**
 * What has a good record goes first: the next in line may be as bad as the one before. What is known to be slow goes
 * last, since it holds up all others.
 */
export const byCostEstimate =
  ({ unknownMicroseconds }: Policy) =>
  (a: CostEstimate, b: CostEstimate): number =>
    Math.sign(a.pace - unknownMicroseconds) - Math.sign(b.pace - unknownMicroseconds) || b.trust - a.trust;

/** Calls that may share a batch, of code whose calls take `mean` microseconds. */
export const batchSize = (mean: number, { batchCalls, batchMicroseconds }: Policy): number =>
  Math.min(batchCalls, Math.floor(batchMicroseconds / mean));

/** Calls of one endpoint on probation that may run at once: one process is left for others. */
export const callsAtOnce = ({ probationRunning }: Policy): number => probationRunning - 1;

export const priorityOf = ({ timedOut }: CostEstimate): number => (timedOut ? LAST_PRIORITY : PROBATION_PRIORITY);

/** Processes on probation, with those whose code waits for an answer from outside. */
export const probationProcesses = ({ probationRunning }: Policy): number => probationRunning + 16;

/** How busy the processes on probation are. */
export interface Occupation {
  /** Processes that have work, … */
  readonly busy: number;
  /** … and that do not wait for an answer from outside. */
  readonly running: number;
}

export const mayBegin = ({ busy, running }: Occupation, policy: Policy): boolean =>
  busy < probationProcesses(policy) && running < policy.probationRunning;

// ----- when to suspect, and to give up -----

export interface Silence {
  readonly silentMs: number;
  /** Processor time that it used since it was suspected. */
  readonly workMs: number;
  /** A call is among its work, running or waiting. */
  readonly holdsUpCalls: boolean;
}

/**
 * A sandbox that others keep from the cores is silent too, so its own work counts. One that loads holds up only other
 * loads, and code that takes long to load may be quick when it is called.
 */
export const isStuck = ({ silentMs, workMs, holdsUpCalls }: Silence, policy: Policy): boolean =>
  (holdsUpCalls && workMs >= policy.stuckMs) || silentMs > policy.starvedMs;

/** It was silent because it got no core: nobody knows whether its code had begun. */
export const isStarved = (workMs: number, { stuckMs }: Policy): boolean => workMs < stuckMs;

export interface Crash {
  readonly isLoad: boolean;
  /** How often its first call was interrupted before. */
  readonly attempts: number;
  readonly calledOut: boolean;
  /** Nothing else ever ran in that process at the same time. */
  readonly wasAlone: boolean;
  /** By an operator, or a system that has no memory left. */
  readonly isFromOutside: boolean;
}

/** How often a call or a load is tried that ends its sandbox, or has it ended. */
export const MOST_ATTEMPTS = 3;

/** What becomes of the work under which a sandbox ended. Work that was not alone in it is tried alone. */
export function afterCrash(crash: Crash): 'load again' | 'requeue' | 'fail' {
  if (crash.isLoad) return 'load again';
  const isAtFault = crash.wasAlone && !crash.isFromOutside;
  return crash.calledOut || crash.attempts + 1 >= MOST_ATTEMPTS || isAtFault ? 'fail' : 'requeue';
}

// ----- memory -----

/** So is one that nobody used for so long where it has more than this, … */
const UNUSED_MS = 3000;
const UNUSED_BYTES = 192 * MB;
/** … and than its isolates need: code keeps memory, and garbage that nobody collects. */
const ISOLATE_BYTES = 4 * MB;

/** Bytes that a shared worker may have. */
export const bytesAllowed = (unusedForMs: number, isolates: number, { processBytes }: Policy): number =>
  unusedForMs > UNUSED_MS ? UNUSED_BYTES + isolates * ISOLATE_BYTES : processBytes;

/** Bytes by which one work may let its process grow: V8 grants more than the limit for a moment before it gives up. */
export const growthAllowed = (heapMb: number): number => (4 * heapMb + 200) * MB;
