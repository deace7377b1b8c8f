/** `node loop.ts CODE INPUT`: parses, calls and stringifies line by line in one process. Prints milliseconds. */
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { runInThisContext } from 'node:vm';

const [, , code = '', input = ''] = process.argv;
const run = runInThisContext(`${code}\nrun`) as (value: unknown) => unknown;
const began = performance.now();
let characters = 0;
for await (const line of createInterface({ input: createReadStream(input), crlfDelay: Infinity }))
  characters += JSON.stringify({ result: run(JSON.parse(line)) }).length;
console.log(String(performance.now() - began), characters);
