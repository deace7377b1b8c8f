/** All that was tuned or chosen for workers: figures, and pure functions that decide by them. */

const MB = 2 ** 20;

export const workerPolicy = {
  /** Between two looks at calls and workers while there is work, … */
  tickMs: 25,
  /** … and while workers have nothing to do. */
  idleTickMs: 100,
  memoryCheckMs: 100,
  /** Calls of one worker that may wait for answers to questions of theirs, each of at most so many. */
  mostQuestions: 100,

  /** A worker with several calls that is silent for so long is asked whether it is alive, … */
  blockedMs: 1000,
  /** … and keeps what it has begun, but gets no more, where it does not answer within so long. */
  aliveMs: 500,
  /** In which it says what it has begun. */
  drainMs: 200,
  /** Workers of one knowledge object beside the current one that a call keeps busy; more than these wait for their limits. */
  mostLeftBehind: 1,

  /** Workers of one knowledge object in a row that may end without having begun anything of their work. */
  mostEndsInVain: 3,

  /** Writes of calls to one worker that are not answered yet: what comes meanwhile forms the next, … */
  batchesInFlight: 2,
  /** … but for those that are slow, which hold up no other. */
  recentMs: 5,
  /** Messages of a turn go together up to this size: a write costs more than a message. */
  batchBytes: 1_000_000,
  /** Beside inputs and results, a frame holds names, places and descriptions. */
  besideBodyBytes: 1_000_000,
  /** The numbers of calls, of which a worker keeps 30 bits. */
  mostCalls: 0x3fff_fff0,

  /** What a worker may have in its scratch folder, … */
  scratchBytes: 256 * MB,
  scratchFiles: 10_000,
  /** … which is looked at so often, as are its threads; more seldom where that takes long, see `ScratchFolders`. */
  scratchCheckMs: 100,
  /** Threads come out of the machine's and the service's, and no limit of the kernel counts those of one process. */
  mostThreads: 1000,

  /** Place on the cores of workers for records, … */
  recordsPriority: 5,
  /** … which get so many at a time as take this long by those before, … */
  chunkMs: 10,
  chunkRecords: 1024,
  /** … and have this time for it until each of them runs alone, with all the time that a call has, … */
  chunkLimitMs: 3000,
  /** … but single calls where one takes longer: code that waits may do so for many at once. */
  slowRecordMs: 2,
  /** How long they are taken to be slow before one is measured again. */
  slowForMs: 1000,
} as const;

export type WorkerPolicy = { readonly [Figure in keyof typeof workerPolicy]: number };

/** Bytes of resident memory that a worker may have. */
export const residentBytes = (memoryMb: number, besideMemoryMb: number): number => (memoryMb + besideMemoryMb) * MB;

/** How a worker with open calls has been of late; times in milliseconds of the clock. */
export interface Liveliness {
  readonly openCalls: number;
  readonly lastHeard: number;
  readonly pingedAt: number;
}

/** What to do with a worker that may be kept busy by a call. */
export function ifBlocked(
  { openCalls, lastHeard, pingedAt }: Liveliness,
  now: number,
  { blockedMs, aliveMs }: WorkerPolicy,
): 'wait' | 'ping' | 'leave behind' {
  if (openCalls < 2 || now - lastHeard < blockedMs) return 'wait';
  if (pingedAt <= lastHeard) return 'ping';
  return now - pingedAt > aliveMs ? 'leave behind' : 'wait';
}

/** The time that code may give a call of another endpoint, so that it can still say what became of it. */
export const leftForOthers = (leftMs: number): number => Math.floor(Math.max(leftMs * 0.95, leftMs - 1000));
