/**
 * The check of a package that nobody vetted: in a process of its own, with bounds for its memory and time, behind all else
 * on the cores, without the environment of the service, and with a folder that goes with it. Code of the package runs in
 * the sandboxes of that process, as in the service.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { type Fields, isObject } from '../lib/json.ts';

const PROGRAM = fileURLToPath(new URL('./check-archive.ts', import.meta.url));
/** Of coreutils: what it starts begins with the later place, all its threads and processes too. */
const NICE = '/usr/bin/nice';
const MAX_HEAP_MB = 384;
const MAX_PRINTED_BYTES = 4 * 2 ** 20;

export interface CheckLimits {
  /** Milliseconds. */
  readonly timeout: number;
  /** Runtimes that are started where its code needs them. */
  readonly runtimes?: readonly string[];
}

/** What was found; `failure` where the check did not come to its end. */
export type ProcessCheck = { readonly found: Fields } | { readonly failure: string };

/** `folder`: its own, for all that it writes. Never rejects. */
export async function checkInProcess(
  archive: string,
  folder: string,
  { timeout, runtimes = [] }: CheckLimits,
  signal: AbortSignal,
): Promise<ProcessCheck> {
  const command = [process.execPath, `--max-old-space-size=${MAX_HEAP_MB}`, PROGRAM, archive, ...runtimes];
  const [program = process.execPath, ...args] = existsSync(NICE) ? [NICE, '-n', '3', ...command] : command;
  const child = spawn(program, args, {
    env: { PATH: '/usr/bin:/bin', HOME: folder, TMPDIR: folder },
    cwd: folder,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let reason = '';
  const end = (why: string): void => {
    reason ||= why;
    // The sandboxes that it started end with it.
    child.kill('SIGKILL');
  };
  const timer = setTimeout(() => end(`it took more than ${timeout / 1000} s`), timeout);
  const onAbort = (): void => end('nobody waits for it any more');
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    const exit = new Promise<number | string>((resolve) => {
      child.once('error', ({ message }) => resolve(message));
      child.once('close', (code, killedBy) => resolve(code ?? killedBy ?? ''));
    });
    const text = await printed(child.stdout, () => end('it found more than can be told'));
    const code = await exit;
    const found = reason === '' && code === 0 ? foundIn(text) : undefined;
    return found === undefined ? { failure: reason || `its process ended (${code})` } : { found };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
  }
}

async function printed(output: Readable, onTooMuch: () => void): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of output as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size <= MAX_PRINTED_BYTES) chunks.push(chunk);
      else onTooMuch();
    }
  } catch {
    // Its end tells why.
  }
  return Buffer.concat(chunks).toString();
}

function foundIn(text: string): Fields | undefined {
  try {
    const found = JSON.parse(text) as unknown;
    return isObject(found) ? found : undefined;
  } catch {
    return undefined;
  }
}
