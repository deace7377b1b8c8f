/** Batches where something gives out: the disk, the reader, the service itself; and very many of them at once. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { after, test } from 'node:test';
import { pathOf } from '../acceptance/support/knowledge-grid.ts';
import { javascriptKo } from '../acceptance/support/ko.ts';
import { until } from '../runtimes/support/until.ts';
import { startService } from '../acceptance/support/service.ts';
import { linesOf, openBatch, readAnswer } from './support/batch-client.ts';
import { naan, numbers, path, results, well } from './support/well.ts';

/** Of two sandboxes, with a disk that is soon full, and killed at the end. */
const own = await startService({
  as: ['sh', '-c', 'ulimit -S -f 8192; exec "$0" "$@"'],
  args: ['--sandboxes', '2', '--execution-timeout', '60s'],
});
after(() => own[Symbol.asyncDispose]());
await own.serve(well);

test('two sandboxes share the records of one batch', async () => {
  // Each process has its own.
  const code = `
    const own = Math.random();
    function run() { const end = Date.now() + 1; while (Date.now() < end); return own; }`;
  const which = javascriptKo(code, { naan, name: 'which' });
  await own.serve(which);
  const outgoing = openBatch(own.url, pathOf(which));
  const seen = new Set<string>();
  let [sent, answered] = [0, 0];
  // It goes on until both have answered, however late the second gets a core.
  const sendMore = (): void => {
    for (; seen.size < 2 && sent < answered + 300; sent++) outgoing.write('1\n');
    if (seen.size === 2) outgoing.end();
  };
  sendMore();
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
  incoming.on('data', (part: Buffer | string) => {
    const lines = String(part).split('\n').slice(0, -1);
    answered += lines.length;
    for (const line of lines) if (line.startsWith('{') && line.endsWith('}')) seen.add(line);
    sendMore();
  });
  const { lines, isWhole } = await readAnswer(incoming);
  const said = own.log.filter(({ event }) => event === 'batch-broke-off').map((line) => JSON.stringify(line));
  assert.ok(isWhole, [`${sent} sent, ${answered} answered by ${seen.size} processes`, ...said].join('\n'));
  assert.equal(lines.length, sent);
  // The spare takes the place of a process that got no core for a while: then a third one has answered too.
  assert.ok(new Set(results({ lines })).size >= 2);
});

test('a service that is killed leaves an answer that is seen to be broken, of what it had answered', async () => {
  const outgoing = openBatch(own.url, path);
  const response = once(outgoing, 'response') as Promise<[IncomingMessage]>;
  outgoing.write(numbers(1000));
  const [incoming] = await response;
  let seen = '';
  incoming.on('data', (part: Buffer) => (seen += part.toString()));
  const answer = readAnswer(incoming);
  await until('some are answered', () => (seen.includes('\n') ? true : undefined));
  await own.stop('SIGKILL');
  const { isWhole, text } = await answer;
  assert.equal(isWhole, false);
  const lines = linesOf(text);
  assert.deepEqual(results({ lines }), [...Array(lines.length).keys()]);
});
