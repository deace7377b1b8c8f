/**
 * The yardstick of execution: parses the body, calls the function, and stringifies the answer, with nothing around it.
 * Reads a list of `BareKo` from standard input and prints its port.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { runInThisContext } from 'node:vm';
import type { BareKo } from '../lib/servers.ts';

type Run = (input: unknown) => unknown;
type Context = Readonly<{ getExecutor(id: string): Readonly<{ execute: Run }> | null }>;

const kos = JSON.parse(await text(process.stdin)) as BareKo[];
const runs = new Map<string, Run>();
const context: Context = {
  getExecutor(id) {
    const run = runs.get(id);
    return run === undefined ? null : { execute: run };
  },
};
const byPath = new Map<string, { run: Run; ko: unknown }>();
for (const { path, id, code, metadata } of kos) {
  const define = runInThisContext(`(function (context) {${code}\nreturn run; })`) as (context: Context) => Run;
  const run = define(context);
  runs.set(id, run);
  byPath.set(path, { run, ko: metadata });
}

const server = createServer((request, response) => {
  const found = byPath.get(request.url ?? '');
  let body = '';
  request
    .setEncoding('utf8')
    .on('data', (chunk: string) => (body += chunk))
    .on('end', () => {
      if (found === undefined) {
        response.writeHead(404).end();
        return;
      }
      const answer = (result: unknown): void => {
        const bytes = JSON.stringify({ result, info: { ko: found.ko, inputs: body } });
        const length = Buffer.byteLength(bytes);
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': length }).end(bytes);
      };
      const result = found.run(JSON.parse(body));
      if (result instanceof Promise) void result.then(answer);
      else answer(result);
    });
});
server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port));
