/**
 * Takes away what the code of a knowledge object could use against other processes. A seat belt beside Node's
 * permission model, not a wall: see the README for what is promised.
 */
export function restrict(): void {
  // Threads were needed for the watchdog only, and a thread of its own would have the functions removed below.
  (process.permission as { drop?: (scope: string) => void } | undefined)?.drop?.('worker');
  const removed = ['kill', '_kill', '_debugProcess', '_debugEnd', 'execve', '_getActiveHandles', '_getActiveRequests'];
  const refuse = (): never => {
    throw new Error('not available to knowledge objects');
  };
  for (const name of removed) if (name in process) Object.defineProperty(process, name, { value: refuse });
  process.argv.length = 1;
  process.execArgv.length = 0;
}
