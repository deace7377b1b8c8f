/** One child process with code in it that nobody trusts: started with as little as it needs, and ended by SIGKILL only. */
import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import {
  existsSync,
  readFileSync,
  readdirSync,
  writeFileSync,
  closeSync,
  openSync,
  readSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { getPriority, setPriority } from 'node:os';
import { join } from 'node:path';
import { Duplex, type Readable } from 'node:stream';
import { launchOf, type Program } from '../../confinement/launch.ts';
import { NO_WALLS, type Kernel, type Walls } from '../../confinement/walls.ts';
import { FrameReader, ProtocolError, TextFrameReader, frame, type OnFrame } from './frames.ts';

/** Of util-linux: the kernel ends the sandbox when the activator dies, also in the middle of a native loop. */
const SETPRIV = '/usr/bin/setpriv';
/** Of util-linux too: sets how the kernel schedules a process. */
const CHRT = '/usr/bin/chrt';
/** A process there runs on cores that nobody else wants. */
export const LOWEST_PRIORITY = 19;
const PAGE_BYTES = 4096;
const TICK_MILLISECONDS = 10;
/** Milliseconds from the end of the pipe to that of the process, which closes it when it ends. */
const CLOSING_MILLISECONDS = 1000;
/** … and from the end of the process to that of its pipes, in which its last words lie: what it left behind may hold them. */
const LAST_WORDS_MILLISECONDS = 200;
/** Characters of what it prints that are kept. */
const MAX_PRINTED_CHARACTERS = 2000;

/** True where a sandbox cannot outlive the activator even when its code never returns. */
export const diesWithActivator = existsSync(SETPRIV);

/** What is started; it finds the socket of its frames as file descriptor 3, unless they pass by `stdio`. */
export interface Command {
  /** Absolute path. */
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** What comes by its standard input. */
  readonly input: string;
  /** What it may do; without them it starts as it is. */
  readonly walls?: Walls;
  /** `/` where it is left out. */
  readonly cwd?: string;
  /** It has a second socket for frames, as file descriptor 4, and is the head of a group of processes that ends with it. */
  readonly isWorker?: boolean;
  /** Folder of the file in which it counts what it has begun, which it finds as file descriptor 5. */
  readonly countsIn?: string;
  /**
   * For languages that cannot open a socket by its number: frames come by its standard input, after `input`, and go by its
   * standard output, where their header is text (see `TextFrameReader`). What code prints goes to standard error.
   */
  readonly frames?: 'stdio';
}

export interface ProcessEvents {
  /** @throws ProtocolError, which ends the process. */
  onFrame: OnFrame;
  /** Bytes that the text of a frame may have now. @throws ProtocolError. */
  mostOf(kind: number): number;
  /** Once, when the process has ended, for whatever reason. `begun`: the last that it began, where it counts that. */
  onExit(reason: string, begun?: number): void;
  /** It sent what it never sends, or closed its socket, and is ended for that. */
  onOdd?(what: string): void;
  /** Takes what it prints, which is lost where nobody does. */
  onOutput?(name: 'stdout' | 'stderr', stream: Readable): void;
}

/** A process as a worker sees it. */
export interface Sandbox {
  /** Undefined where it could not be started. */
  readonly pid?: number | undefined;
  readonly alive: boolean;
  /** `encoding`: see `frame`. */
  send(kind: number, a: number, b: number, text: string, encoding?: 'latin1'): void;
  /** Sends bytes as they are: frames that were put together, or what the second socket takes. */
  write(bytes: Buffer, by?: 'data' | 'control'): void;
  /** Nothing is heard of it any more but its end. */
  kill(): void;
  /** Takes a later place on the machine's cores than the activator has, from 0 to `LAST_PLACE`. */
  lowerPriority(places: number): void;
  /** Resident memory in bytes; 0 where the system does not tell. */
  memory(): number;
  /** Milliseconds of processor time that it has used, in steps of 10; 0 where the system does not tell. */
  processorTime(): number;
}

export type StartSandbox = (events: ProcessEvents) => Sandbox;

export class ChildProgram implements Sandbox {
  readonly #child: ChildProcess;
  readonly #socket: Duplex;
  readonly #control: Duplex | undefined;
  readonly #isWorker: boolean;
  readonly #guard: GroupGuard | undefined;
  readonly #begun: BegunFile | undefined;
  readonly #kills: () => number;
  readonly #killsBefore: number;
  alive = true;
  #isUnresponsive = false;

  /** `kills`: see `memoryKills`. */
  constructor(command: Command, events: ProcessEvents, kernel: Kernel = NO_WALLS, kills = memoryKills) {
    this.#kills = kills;
    this.#killsBefore = kills();
    const { cwd = '/', isWorker = false, countsIn } = command;
    const pipes = countsIn !== undefined ? 3 : isWorker ? 2 : 1;
    const { program, args, env } =
      (command.walls && launchOf(command, command.walls, kernel, pipes)) ?? withoutWalls(command);
    this.#isWorker = isWorker;
    if (countsIn !== undefined) this.#begun = new BegunFile(countsIn);
    this.#child = spawn(program, args, {
      env: { ...env },
      cwd,
      stdio: [
        'pipe',
        events.onOutput === undefined && command.frames !== 'stdio' ? 'ignore' : 'pipe',
        'pipe',
        'pipe',
        ...(isWorker ? ['pipe' as const] : []),
        ...(this.#begun ? [this.#begun.descriptor] : []),
      ],
      // In no session of its own otherwise: the kernel may share the cores among sessions first, and then priorities count for nothing.
      detached: isWorker,
    });
    const { pid } = this.#child;
    if (isWorker && mayFork(command, kernel) && pid !== undefined) this.#guard = new GroupGuard(pid);
    // A process for which no handle was left has no pipes: `error` tells of it in a moment.
    const sockets: ChildProcess['stdio'] | undefined = this.#child.stdio;
    const { stdin, stdout } = this.#child;
    // Of one that ends before it has read, `exit` tells.
    stdin?.on('error', () => undefined);
    if (command.frames === 'stdio') {
      stdin?.write(command.input);
      this.#socket = stdin && stdout ? Duplex.from({ readable: stdout, writable: stdin }) : silence();
      this.#control = this.#socket;
    } else {
      stdin?.end(command.input);
      this.#socket = (sockets?.[3] as Duplex | undefined) ?? silence();
      if (isWorker) this.#control = (sockets?.[4] as Duplex | undefined) ?? silence();
    }
    this.#listen(events, command.frames === 'stdio');
    // The first to go when the machine runs out of memory.
    this.#applyPriority(() => writeFileSync(`/proc/${String(this.pid)}/oom_score_adj`, '1000'));
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  send(kind: number, a: number, b: number, text: string, encoding?: 'latin1'): void {
    if (this.alive) this.#socket.write(frame(kind, a, b, text, encoding));
  }

  /** Sends bytes as they are: frames that were put together, or what the second socket takes. */
  write(bytes: Buffer | string, by: 'data' | 'control' = 'data'): void {
    const socket = by === 'data' ? this.#socket : this.#control;
    if (this.alive && socket?.writable === true) socket.write(bytes);
  }

  kill(): void {
    this.#isUnresponsive = true;
    this.#child.kill('SIGKILL');
    this.#killGroup();
  }

  /** What it has started too, as long as its number is its own. */
  #killGroup(): void {
    const { pid } = this;
    if (this.#isWorker && this.alive && pid !== undefined) this.#applyPriority(() => process.kill(-pid, 'SIGKILL'));
  }

  lowerPriority(places: number): void {
    // The priority is a thread's own.
    this.#applyPriority(() => {
      const place = Math.min(LOWEST_PRIORITY, getPriority() + places);
      for (const thread of readdirSync(`/proc/${String(this.pid)}/task`)) setPriority(Number(thread), place);
    });
    // Whatever its priority, a process that runs may go on for some milliseconds when others wake; an idle one may not.
    if (places === LOWEST_PRIORITY && existsSync(CHRT)) {
      const idle = spawn(CHRT, ['--idle', '--all-tasks', '--pid', '0', String(this.pid)], { env: {}, stdio: 'ignore' });
      idle.on('error', () => undefined);
    }
  }

  memory(): number {
    let bytes = 0;
    this.#applyPriority(() => {
      bytes = Number(readFileSync(`/proc/${String(this.pid)}/statm`, 'latin1').split(' ')[1]) * PAGE_BYTES;
    });
    return bytes;
  }

  processorTime(): number {
    let ticks = 0;
    this.#applyPriority(() => {
      const fields =
        readFileSync(`/proc/${String(this.pid)}/stat`, 'latin1')
          .split(') ')
          .at(-1)
          ?.split(' ') ?? [];
      ticks = Number(fields[11]) + Number(fields[12]);
    });
    return ticks * TICK_MILLISECONDS;
  }

  #listen(events: ProcessEvents, isStdio: boolean): void {
    let odd = '';
    const endAsOdd = (what: string): void => {
      odd = `it was ended, since ${what}`;
      events.onOdd?.(what);
      this.kill();
    };
    const onOddFrame = (message: string): void => endAsOdd(`it sent what no sandbox sends: ${message}`);
    this.#read(this.#socket, isStdio ? TextFrameReader : FrameReader, events, onOddFrame);
    if (this.#control !== undefined && !isStdio) this.#read(this.#control, FrameReader, events, onOddFrame);
    let closing: NodeJS.Timeout | undefined;
    this.#socket.on('end', () => {
      closing = setTimeout(() => endAsOdd('it closed its pipe'), CLOSING_MILLISECONDS).unref();
    });
    for (const name of isStdio ? (['stderr'] as const) : (['stdout', 'stderr'] as const)) {
      const stream: Readable | null | undefined = this.#child[name];
      if (stream) events.onOutput?.(name, stream);
    }
    let said = '';
    this.#child.stderr?.on('data', (chunk: Buffer) => {
      if (said.length < MAX_PRINTED_CHARACTERS) said += chunk.toString('latin1');
    });
    let ended = false;
    const onEnd = (reason: string): void => {
      if (ended) return;
      ended = true;
      clearTimeout(closing);
      this.alive = false;
      this.#socket.destroy();
      this.#control?.destroy();
      const how = odd === '' ? reason : odd;
      events.onExit(said === '' ? how : `${how}: ${mainLine(said)}`, this.#begun?.close());
    };
    this.#child.on('error', (error) => onEnd(error.message));
    this.#child.on('exit', (code, signal) => {
      const isForMemory = signal === 'SIGKILL' && !this.#isUnresponsive && this.#kills() > this.#killsBefore;
      const how = isForMemory ? `${signal}: ${KILLED_FOR_MEMORY}` : (signal ?? `exit code ${String(code)}`);
      const end = (): void => onEnd(how);
      if (!this.#isWorker) return end();
      this.#killGroup();
      this.#guard?.[Symbol.dispose]();
      this.alive = false;
      this.#child.once('close', end);
      setTimeout(end, LAST_WORDS_MILLISECONDS);
    });
  }

  #read(
    socket: Duplex,
    Reader: typeof FrameReader | typeof TextFrameReader,
    events: ProcessEvents,
    onOdd: (message: string) => void,
  ): void {
    const reader = new Reader(
      (kind, a, b, text) => {
        if (!this.#isUnresponsive) events.onFrame(kind, a, b, text);
      },
      (kind) => (this.#isUnresponsive ? Infinity : events.mostOf(kind)),
    );
    socket.on('data', (chunk: Buffer) => {
      if (this.#isUnresponsive) return;
      try {
        reader.push(chunk);
      } catch (thrown) {
        if (!(thrown instanceof ProtocolError)) throw thrown;
        onOdd(thrown.message);
      }
    });
    // A write to a process that has just ended; `onExit` tells what became of its work.
    socket.on('error', () => {});
  }

  /** What only some systems allow. */
  #applyPriority(action: () => void): void {
    try {
      action();
    } catch {
      // Not Linux, or the process has just ended.
    }
  }
}

const mayFork = ({ walls }: Command, { koffi, seccomp }: Kernel): boolean =>
  walls === undefined || walls.processes || koffi === undefined || !seccomp;

/** … but for what setpriv gives. */
const withoutWalls = ({ program, args, env }: Command): Program =>
  diesWithActivator
    ? { program: SETPRIV, args: ['--pdeathsig', 'KILL', '--no-new-privs', '--', program, ...args], env }
    : { program, args, env };

/** Takes all and says nothing. */
const silence = (): Duplex => new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() });

/** The line that says what went wrong, of what Node prints when it ends. */
function mainLine(said: string): string {
  const lines = said.trim().split('\n');
  return lines.find((line) => /^\w*(Error|FATAL)/.test(line)) ?? lines.at(0) ?? '';
}

/** As much as a worker maps into its memory, with room for its own use. */
const BYTES = 16;
/** Of the number, which is below 2^48. */
const NUMBER_BYTES = 6;

/** The number of the last call that a worker began. */
export class BegunFile {
  readonly descriptor: number;

  /** The file has no name afterwards. */
  constructor(folder: string) {
    const path = join(folder, `begun-${randomUUID()}`);
    this.descriptor = openSync(path, 'wx+', 0o600);
    unlinkSync(path);
    // On a disk that is full this fails, and not what the worker writes there later.
    writeSync(this.descriptor, Buffer.alloc(BYTES));
  }

  /** Once: gives the number. */
  close(): number {
    const bytes = Buffer.alloc(BYTES);
    readSync(this.descriptor, bytes, 0, BYTES, 0);
    closeSync(this.descriptor);
    return bytes.readUIntLE(0, NUMBER_BYTES);
  }
}

const SHELL = '/bin/sh';
/** Waits for the end of a pipe that the activator alone holds; a signal for the group of the activator is not for it. */
const SCRIPT = `trap '' INT TERM HUP; read -r _; kill -KILL "-$0"`;

/** A shell of one megabyte, which watches over one group. */
export class GroupGuard implements Disposable {
  readonly #end: () => void;

  constructor(group: number) {
    const shell = spawn(SHELL, ['-c', SCRIPT, String(group)], {
      env: {},
      cwd: '/',
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
    });
    // Where there is no shell, nobody watches.
    shell.on('error', () => undefined);
    shell.stdin.on('error', () => undefined);
    shell.unref();
    this.#end = () => shell.kill('SIGKILL');
  }

  /** The group has ended, and its number may be that of another. */
  [Symbol.dispose](): void {
    this.#end();
  }
}

/** Behind the signal, in the reason for the end of such a process. */
export const KILLED_FOR_MEMORY = 'the kernel ended it, since no memory was left';

/** How many processes the kernel has ended for want of memory, of the machine or of a container; 0 where it does not tell. */
export function memoryKills(file = '/proc/vmstat'): number {
  try {
    return Number(/^oom_kill (\d+)$/m.exec(readFileSync(file, 'latin1'))?.[1] ?? 0);
  } catch {
    return 0;
  }
}

export interface NeverStarted {
  readonly pid: undefined;
  readonly alive: boolean;
  send(): void;
  write(): void;
  kill(): void;
  lowerPriority(): void;
  memory(): number;
  processorTime(): number;
}

/** The next start is tried after a pause, as where a program cannot be started. */
export function neverStarted(events: Pick<ProcessEvents, 'onExit'>, reason: string): NeverStarted {
  let alive = true;
  setImmediate(() => {
    // What is given to it from then on would be lost.
    alive = false;
    events.onExit(reason);
  });
  const nothing = (): void => undefined;
  const none = (): number => 0;
  return {
    get alive() {
      return alive;
    },
    ...{ pid: undefined, send: nothing, write: nothing, kill: nothing },
    ...{ lowerPriority: nothing, memory: none, processorTime: none },
  };
}
