/** Runs attempts in a process of nobody's making: what the kernel itself grants to this user. One line a result. */
import { readFileSync, writeSync } from 'node:fs';
import { attemptsBy } from './attempt.mjs';

const attempt = attemptsBy(process.argv[2]);
for (const [name, ways] of Object.entries(JSON.parse(readFileSync(0, 'utf8')))) {
  writeSync(1, `${JSON.stringify([name, null])}\n`);
  writeSync(1, `${JSON.stringify([name, attempt(ways)])}\n`);
}
