/** The yardstick of reads: sends bytes from memory. Reads a list of `BareAnswer` from standard input and prints its port. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { BareAnswer } from '../lib/servers.ts';

const answers = new Map(
  (JSON.parse(await text(process.stdin)) as BareAnswer[]).map(({ path, status, headers, body }) => [
    path,
    { status, headers: [...headers], body: Buffer.from(body) },
  ]),
);
const server = createServer((request, response) => {
  const answer = answers.get(request.url ?? '');
  if (answer === undefined) response.writeHead(404).end();
  else response.writeHead(answer.status, answer.headers).end(answer.body);
});
server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port));
