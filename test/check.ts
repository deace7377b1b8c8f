/** `npm run check`: format, lint and types, beside one another, since each takes one core. Fails where one of them does. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';

const PROJECT = resolve(import.meta.dirname, '..');
/** That first which takes longest. */
const CHECKS = ['oxlint .', 'oxfmt --check .', 'tsc --noEmit --singleThreaded', 'tsc -p src/web/browser'];

async function run(check: string): Promise<void> {
  const [program = '', ...args] = check.split(' ');
  const env = { ...process.env, PATH: `${join(PROJECT, 'node_modules/.bin')}:${process.env['PATH'] ?? ''}` };
  const child = spawn(program, args, { cwd: PROJECT, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  const passed = child.exitCode === 0;
  process.stdout.write(`${check}: ${passed ? 'passed' : 'failed'}\n${out}${err}`);
  if (!passed) process.exitCode = 1;
}

await Promise.all(CHECKS.map(run));
