/** `node loop.ts CODE INPUT`: parses, calls and stringifies line by line in one process. Prints milliseconds, and those of processor time. */
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { runInThisContext } from 'node:vm';

const [, , code = '', input = ''] = process.argv;
const run = runInThisContext(`${code}\nrun`) as (value: unknown) => unknown;
const [began, used] = [performance.now(), process.cpuUsage()];
let characters = 0;
for await (const line of createInterface({ input: createReadStream(input), crlfDelay: Infinity }))
  characters += JSON.stringify({ result: run(JSON.parse(line)) }).length;
const { user, system } = process.cpuUsage(used);
console.log(String(performance.now() - began), (user + system) / 1000, characters);
