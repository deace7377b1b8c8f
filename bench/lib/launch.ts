/** A child process that says on its output how far it is, and that never outlives the bench. */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

export interface Launched extends AsyncDisposable {
  readonly pid: number;
  firstLine(): Promise<string>;
  /** A JSON line with that `event`, past or to come. */
  event(name: string): Promise<{ readonly fields: Readonly<Record<string, unknown>>; readonly after: number }>;
}

export interface LaunchOptions {
  readonly signal: AbortSignal;
  /** Text for its standard input. */
  readonly input?: string;
  readonly cwd?: string;
}

interface Line {
  readonly text: string;
  /** Milliseconds since the start. */
  readonly after: number;
}

const STOP_TIMEOUT_MS = 10_000;
const MAX_KEPT_LINES = 2000;
/** The first start with 100,000 knowledge objects takes some minutes. */
const TIMEOUT_MS = 600_000;

/** The child leads a process group, so that Ctrl-C reaches only the bench, and its children end with it. */
export function launch(command: string, args: readonly string[], { signal, input = '', cwd }: LaunchOptions): Launched {
  const began = performance.now();
  const child = spawn(command, args, {
    cwd,
    detached: true,
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'] },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const killGroup = (): void => {
    if (child.pid === undefined) return;
    try {
      process.kill(-child.pid, 'SIGKILL');
    } catch {
      // Nobody is left in it.
    }
  };
  process.on('exit', killGroup);

  const said = [command, ...args].join(' ');
  const lines: Line[] = [];
  const waiting = new Set<() => void>();
  let errors = '';
  let end: Error | undefined;
  const notify = (): void => {
    for (const look of waiting) look();
  };
  createInterface({ input: child.stdout }).on('line', (text) => {
    // Only the first line and events are waited for; the rest would but fill the memory.
    if (lines.length > 0 && !text.includes('"event"')) return;
    lines.push({ text, after: performance.now() - began });
    notify();
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors = (errors + text).slice(-MAX_KEPT_LINES)));
  child.stdin.on('error', () => undefined).end(input);
  const ended = new Promise<void>((resolve) => {
    const onEnd = (why: string): void => {
      end ??= new Error(`${said} ended with ${why}: ${errors}`);
      notify();
      resolve();
    };
    child.once('error', (error) => onEnd(error.message));
    child.once('close', (code, name) => onEnd(String(code ?? name)));
  });

  const found = <T>(read: (line: Line) => T | undefined): Promise<T> =>
    new Promise((resolve, reject) => {
      let late = false;
      const look = (): void => {
        const hit = lines.map(read).find((each) => each !== undefined);
        const failure = signal.aborted ? new Error('the bench ends') : late ? new Error(`${said} is not ready`) : end;
        if (hit !== undefined) resolve(hit);
        else if (failure !== undefined) reject(failure);
        else return;
        clearTimeout(timer);
        waiting.delete(look);
        signal.removeEventListener('abort', look);
      };
      const timer = setTimeout(() => {
        late = true;
        look();
      }, TIMEOUT_MS);
      waiting.add(look);
      signal.addEventListener('abort', look);
      look();
    });

  return {
    pid: child.pid ?? 0,
    firstLine: () => found(({ text }) => text),
    event: (name) =>
      found(({ text, after }) => {
        const fields = fieldsOf(text);
        return fields['event'] === name ? { fields, after } : undefined;
      }),
    async [Symbol.asyncDispose]() {
      if (end === undefined) child.kill('SIGTERM');
      const hard = setTimeout(killGroup, STOP_TIMEOUT_MS);
      await ended;
      clearTimeout(hard);
      killGroup();
      process.off('exit', killGroup);
    },
  };
}

function fieldsOf(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return {};
  }
}
