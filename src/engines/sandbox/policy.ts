/**
 * All that was tuned or chosen: one object of figures, and pure functions that decide by them and by plain snapshots.
 * Nothing here keeps a state or changes one.
 */
import { LOWEST_PRIORITY } from '../supervisor/process.ts';

const KB = 1024;
const MB = 1024 * KB;

export type Policy = ReturnType<typeof policyFor>;

/** `cores`: how many threads of work the machine runs at once. */
export function policyFor(cores: number) {
  /** Processes that may use a core at once, so that one endless loop does not hold up all that is merely slow. */
  const quarantineRunning = Math.max(4, 2 * cores);
  return {
    /** Between two looks at the clock. */
    tickMs: 25,
    /** A look that comes so late says that this process was held up: answers may lie in its sockets unread. */
    lateTickMs: 75,
    memoryCheckMs: 100,
    /** With nothing to do, the looks go on so long, until processes that have grown were replaced. */
    idleUntilAsleepMs: 4000,
    /** … and so long after that the spare is ended, which takes some 45 MB. */
    spareIdleMs: 30_000,

    /** Batches of one endpoint on their way to each process of the fast lane: the next is there when one is answered. */
    batchesInFlight: 2,
    /** A batch should end well before a sandbox counts as stuck. */
    batchMicroseconds: 20_000,
    batchCalls: 32,
    batchCharacters: 128 * KB,
    /** Work that stands in a process at most; the rest waits where it can be put in order, and ends at its limit. */
    backlogMicroseconds: 50_000,

    /** After so many good calls an endpoint is known, … */
    knownAfterCalls: 20,
    /** … and before, this is what one of its calls is expected to take. */
    unknownMicroseconds: 20_000,
    /** Calls this quick in a row lead out of the quarantine; each return doubles how many it takes. */
    quickMicroseconds: 20_000,
    firstStreakCalls: 3,
    longestStreakCalls: 1000,

    /** Silence after which a sandbox of the fast lane is suspected, … */
    silentMs: 75,
    /** … of work since then after which it is set aside, … */
    stuckMs: 50,
    /** … or this much where it loads code, and no call but only other loads wait for it, … */
    stuckLoadingMs: 500,
    /** … and of silence after which it is set aside though it got no core to work on. A process that has work gets to one by then. */
    starvedMs: 1000,
    /** Silence after which a process is overtaken by the spare. */
    overtakenMs: 30,

    /** Milliseconds beyond its limit for which a record waits while none is answered: its process may end, start and load again meanwhile. */
    unansweredMs: 30_000,

    /** How often a call or a load is tried that ends its sandbox, or has it ended. */
    mostAttempts: 3,
    /** Starts of a process that fail in a row after which a load is given up. */
    mostFailedStarts: 3,
    firstPauseMs: 200,
    longestPauseMs: 5000,
    /** A process that is not up by then never comes up. */
    startingMs: 60_000,
    /** Between the limit that the sandbox itself keeps and the end of the process. */
    graceMs: 250,
    /** What is not used for so long is ended: the process that loads, … */
    loaderIdleMs: 2000,
    /** … and one that does one work at a time. */
    dedicatedIdleMs: 5000,

    /** Place on the cores of the processes of the fast lane. */
    fastPriority: 0,
    /** False where they are ended after a rest, as the spare is. */
    keepsProcesses: true,
    /** A spare stands by, and another process loads code. Otherwise there is none before there is work for it. */
    hasHelpers: true,

    quarantineRunning,
    /** With those whose code waits for an answer from outside. */
    quarantineProcesses: quarantineRunning + 16,
    /**
     * priorities on the cores: such code comes after all else, and what ran into its limit the last time has the
     * lowest. The priority of a process is never raised again.
     */
    quarantinePriority: 5,
    lastPriority: LOWEST_PRIORITY,

    /**
     * Characters of JSON above which a body is large. The worst of this size, arrays of small objects with keys of their
     * own, was measured to be parsed in 3 ms, in 9 ms on a busy machine; a sandbox is suspected after 75.
     */
    largeCharacters: 64 * KB,
    /** … and very large: the worst of this size takes 100 ms, the worst of 10 MB some seconds. */
    veryLargeCharacters: MB,
    /** Processes that may use a core at once for those that are large, and as many for those that are very large, … */
    largeRunning: 2,
    /** … and with those whose code waits for an answer from outside. */
    largeProcesses: 6,

    /** A process of the fast lane above this is replaced, … */
    processBytes: 1024 * MB,
    /** … and one that nobody used for so long where it has more than this, … */
    unusedMs: 3000,
    unusedBytes: 192 * MB,
    /** … and than its isolates need: code keeps memory, and garbage that nobody collects. */
    isolateBytes: 4 * MB,
    /** Endpoints whose code a process has: about 3 MB each when used. */
    mostIsolates: 300,
    /** Lines between two answers; a sandbox lets 100 through, and as many while it loads code. */
    mostLogLines: 200,
  };
}

/** For records, of which nobody waits for one alone: on the cores they come after single calls. */
export function policyForRecords(cores: number): Policy {
  const policy = policyFor(cores);
  return {
    ...policy,
    // What a batch costs the main process is short beside what single calls wait for anyway.
    batchCalls: 1024,
    batchMicroseconds: 10_000,
    spareIdleMs: 5000,
    fastPriority: policy.quarantinePriority,
    keepsProcesses: false,
  };
}

/** For some knowledge objects that have processes of their own: as few as run their code, and none after a rest. */
export const policyForSome = (policy: Policy): Policy => ({ ...policy, hasHelpers: false, keepsProcesses: false });

// ----- who goes first -----

/** What is known of an endpoint. */
export interface TrackRecord {
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
export const byTrackRecord =
  ({ unknownMicroseconds }: Policy) =>
  (a: TrackRecord, b: TrackRecord): number =>
    Math.sign(a.pace - unknownMicroseconds) - Math.sign(b.pace - unknownMicroseconds) || b.trust - a.trust;

/** Calls that may share a batch, of code whose calls take `mean` microseconds. */
export const batchSize = (mean: number, { batchCalls, batchMicroseconds }: Policy): number =>
  Math.min(batchCalls, Math.floor(batchMicroseconds / mean));

/**
 * Calls of an endpoint in quarantine that may run at once. Of those that were in one batch with an endless loop nobody
 * knows which is at fault: while one runs, another may show that not all of the code is bad.
 */
export function callsAtOnce({ trust, timedOut }: TrackRecord, { quarantineRunning }: Policy): number {
  if (trust > 0) return quarantineRunning - 1;
  return timedOut ? 1 : 2;
}

export const priorityOf = ({ timedOut }: TrackRecord, { lastPriority, quarantinePriority }: Policy): number =>
  timedOut ? lastPriority : quarantinePriority;

/** How busy the processes of the quarantine are. */
export interface Occupation {
  /** Processes that have work, … */
  readonly busy: number;
  /** … and that do not wait for an answer from outside. */
  readonly running: number;
}

export const mayBegin = ({ busy, running }: Occupation, policy: Policy): boolean =>
  busy < policy.quarantineProcesses && running < policy.quarantineRunning;

// ----- when to suspect, and to give up -----

export interface Silence {
  readonly silentMs: number;
  /** Processor time that it used since it was suspected. */
  readonly workMs: number;
  /** A call is among its work, running or waiting. */
  readonly holdsUpCalls: boolean;
}

/** A sandbox that others keep from the cores is silent too, so its own work counts. */
export const isStuck = ({ silentMs, workMs, holdsUpCalls }: Silence, policy: Policy): boolean =>
  workMs >= (holdsUpCalls ? policy.stuckMs : policy.stuckLoadingMs) || silentMs > policy.starvedMs;

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

/** What becomes of the work under which a sandbox ended. Work that was not alone in it is tried alone. */
export function afterCrash(crash: Crash, { mostAttempts }: Policy): 'load again' | 'requeue' | 'fail' {
  if (crash.isLoad) return 'load again';
  const isAtFault = crash.wasAlone && !crash.isFromOutside;
  return crash.calledOut || crash.attempts + 1 >= mostAttempts || isAtFault ? 'fail' : 'requeue';
}

// ----- memory -----

/** Bytes that a process of the fast lane may have. */
export const bytesAllowed = (unusedForMs: number, isolates: number, policy: Policy): number =>
  unusedForMs > policy.unusedMs ? policy.unusedBytes + isolates * policy.isolateBytes : policy.processBytes;

/** Bytes by which one work may let its process grow: V8 grants more than the limit for a moment before it gives up. */
export const growthAllowed = (heapMb: number): number => (4 * heapMb + 200) * MB;
