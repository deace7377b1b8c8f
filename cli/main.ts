/** `kgrid`: the commands of people who write knowledge objects and bring them to activators. */
import { constants } from 'node:os';
import { processContext } from './lib/context.ts';
import { runCommand } from './program.ts';

// Who reads the output may have had enough, as `head` does.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    process.exit(128 + constants.signals.SIGPIPE);
  });
}

const exitCode = await runCommand(process.argv.slice(2), processContext());
// What is left open, such as kept-alive connections, must not hold up the shell.
process.stdout.write('', () => process.exit(exitCode));
