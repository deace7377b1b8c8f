/** `kgrid`: the commands of people who write knowledge objects and bring them to activators. One command, one file. */
import { constants } from 'node:os';
import { Command, CommanderError } from 'commander';
import { processContext } from './lib/context.ts';
import type { Context } from './lib/context.ts';
import { CommandFailure, EXIT } from './lib/exit.ts';
import { harmless } from './lib/terminal.ts';
import { versionOfProject } from './lib/version.ts';

type MakeCommand = (context: Context) => Command;

const COMMANDS: Readonly<Record<string, () => Promise<MakeCommand>>> = {
  create: async () => (await import('./commands/create.ts')).createCommand,
  play: async () => (await import('./commands/play.ts')).playCommand,
  check: async () => (await import('./commands/check.ts')).checkCommand,
  test: async () => (await import('./commands/test.ts')).testCommand,
  pack: async () => (await import('./commands/pack.ts')).packCommand,
  push: async () => (await import('./commands/push.ts')).pushCommand,
  list: async () => (await import('./commands/list.ts')).listCommand,
  status: async () => (await import('./commands/status.ts')).statusCommand,
  diff: async () => (await import('./commands/diff.ts')).diffCommand,
  pull: async () => (await import('./commands/pull.ts')).pullCommand,
  delete: async () => (await import('./commands/delete.ts')).deleteCommand,
  shelf: async () => (await import('./commands/shelf.ts')).shelfCommand,
};

const ALWAYS = `
Exit codes: ${EXIT.ok} done, ${EXIT.problems} problems found, ${EXIT.usage} wrong call, ${EXIT.unreachable} activator or file out of reach
Reference: docs/authoring-commands.md`;

async function main([named = '']: readonly string[]): Promise<number> {
  const context = processContext();
  const program = new Command('kgrid')
    .description('Write, check, try and publish knowledge objects, and look after those at an activator')
    .version(versionOfProject())
    // `create` has a --version of its own.
    .enablePositionalOptions()
    .exitOverride()
    .showHelpAfterError('(add --help to see how it is called)')
    .addHelpText('afterAll', ALWAYS);
  // A command that is named needs no other; most of the time of a short one would be their loading.
  const one = Object.hasOwn(COMMANDS, named) ? COMMANDS[named] : undefined;
  for (const load of one === undefined ? Object.values(COMMANDS) : [one]) {
    program.addCommand((await load())(context).copyInheritedSettings(program));
  }
  try {
    await program.parseAsync(process.argv);
    return Number(process.exitCode ?? EXIT.ok);
  } catch (thrown) {
    // Help and wrong calls were printed already.
    if (thrown instanceof CommanderError) return thrown.exitCode === 0 ? EXIT.ok : EXIT.usage;
    const ofSystem = thrown instanceof Error && 'syscall' in thrown;
    const isExpected = thrown instanceof CommandFailure || ofSystem;
    const words = isExpected ? thrown.message : String(thrown instanceof Error ? thrown.stack : thrown);
    process.stderr.write(`${harmless(words)}\n`);
    return thrown instanceof CommandFailure ? thrown.exitCode : ofSystem ? EXIT.unreachable : EXIT.problems;
  }
}

// Who reads the output may have had enough, as `head` does.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    process.exit(128 + constants.signals.SIGPIPE);
  });
}

const exitCode = await main(process.argv.slice(2));
// What is left open, such as kept-alive connections, must not hold up the shell.
process.stdout.write('', () => process.exit(exitCode));
