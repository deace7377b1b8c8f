/** Keeps one server for all test processes that ask for it at a time, and ends it a little after the last has gone. */
import { createServer } from 'node:net';
import { startServer } from './server.ts';

const [name = ''] = process.argv.slice(2);
/** Milliseconds, in which a run of all tests comes to the next that needs it: to make another costs more than to keep it. */
const REST = 60_000;

const server = createServer();
// Another keeper was quicker: whoever started this one connects to it.
server.on('error', () => process.exit(0));
server.listen(`\0${name}`, keep);

function keep(): void {
  const postgres = startServer();
  let users = 0;
  let timer: NodeJS.Timeout | undefined;
  const rest = (): void => {
    clearTimeout(timer);
    if (users === 0) timer = setTimeout(() => void end(), REST);
  };
  const end = async (): Promise<void> => {
    server.close();
    await (await postgres)[Symbol.asyncDispose]();
    process.exit(0);
  };
  server.on('connection', (socket) => {
    users++;
    clearTimeout(timer);
    socket.on('error', () => undefined);
    socket.on('close', () => (users--, rest()));
    postgres.then(
      ({ port, folder }) => socket.write(`${JSON.stringify({ port, folder })}\n`),
      (thrown: unknown) => socket.end(`${JSON.stringify({ problem: String(thrown) })}\n`, () => process.exit(1)),
    );
  });
  // Without its server, or its folder, it is of no use.
  void postgres
    .then(({ ended }) => ended)
    .then(
      () => process.exit(1),
      () => undefined,
    );
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void end());
  rest();
}
