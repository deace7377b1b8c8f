/**
 * Takes over the shelf of version 0.1 in the folder that is its first argument, as a start does, and ends itself at the
 * step of that number; with -1 it names the steps on stdout and lives.
 */
import { openStorage } from '../../src/shelf/open-storage.ts';

const [dir = '', killAt = '-1'] = process.argv.slice(2);
const steps: string[] = [];

const storage = await openStorage({
  ...{ location: dir, folder: undefined, maxAudit: 2 ** 20, onWarning: () => undefined },
  onStep: (step) => {
    if (steps.push(step) - 1 === Number(killAt)) process.kill(process.pid, 'SIGKILL');
  },
});
await storage[Symbol.asyncDispose]();
process.stdout.write(JSON.stringify(steps));
