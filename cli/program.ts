/** The commands, each from a file of its own, which is loaded when it is called. */
import { Command, CommanderError } from 'commander';
import { fullVersion } from '../src/build.ts';
import { Unavailable } from '../src/check/findings.ts';
import type { Context } from './lib/context.ts';
import { CommandFailure, EXIT } from './lib/exit.ts';
import { harmless } from './lib/terminal.ts';
import { buildOfProject } from './lib/version.ts';

type MakeCommand = (context: Context) => Command;

/** By name, in the order of the help. */
export const COMMANDS: Readonly<Record<string, () => Promise<MakeCommand>>> = {
  create: async () => (await import('./commands/create.ts')).createCommand,
  play: async () => (await import('./commands/play.ts')).playCommand,
  check: async () => (await import('./commands/check.ts')).checkCommand,
  test: async () => (await import('./commands/test.ts')).testCommand,
  page: async () => (await import('./commands/page.ts')).pageCommand,
  pack: async () => (await import('./commands/pack.ts')).packCommand,
  keygen: async () => (await import('./commands/keygen.ts')).keygenCommand,
  sign: async () => (await import('./commands/sign.ts')).signCommand,
  verify: async () => (await import('./commands/verify.ts')).verifyCommand,
  'verify-bundle': async () => (await import('./commands/verify-bundle.ts')).verifyBundleCommand,
  push: async () => (await import('./commands/push.ts')).pushCommand,
  run: async () => (await import('./commands/run.ts')).runCommand,
  'verify-answer': async () => (await import('./commands/verify-answer.ts')).verifyAnswerCommand,
  list: async () => (await import('./commands/list.ts')).listCommand,
  status: async () => (await import('./commands/status.ts')).statusCommand,
  diff: async () => (await import('./commands/diff.ts')).diffCommand,
  pull: async () => (await import('./commands/pull.ts')).pullCommand,
  rollback: async () => (await import('./commands/rollback.ts')).rollbackCommand,
  delete: async () => (await import('./commands/delete.ts')).deleteCommand,
  runtime: async () => (await import('./commands/runtime.ts')).runtimeCommand,
  audit: async () => (await import('./commands/audit.ts')).auditCommand,
  user: async () => (await import('./commands/user.ts')).userCommand,
  key: async () => (await import('./commands/key.ts')).keyCommand,
  mcp: async () => (await import('./commands/mcp.ts')).mcpCommand,
  schema: async () => (await import('./commands/schema.ts')).schemaCommand,
  shelf: async () => (await import('./commands/shelf.ts')).shelfCommand,
};

const VERSION: ReadonlySet<string> = new Set(['--version', '-V']);

const ALWAYS = `
Exit codes: ${EXIT.ok} done, ${EXIT.problems} problems found, ${EXIT.usage} wrong call, ${EXIT.unreachable} activator or file out of reach
Reference: docs/authoring-commands.md`;

/** Runs what a person typed after `kgrid`, and gives its exit code. */
export async function runCommand(args: readonly string[], context: Context): Promise<number> {
  const [named = ''] = args;
  const program = new Command('kgrid')
    .description('Write, check, try and publish knowledge objects, and look after those at an activator')
    .version(fullVersion(buildOfProject()))
    // `create` has a --version of its own.
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({ writeOut: (text) => context.write(text), writeErr: (text) => context.writeError(text) })
    .showHelpAfterError('(add --help to see how it is called)')
    .addHelpText('afterAll', ALWAYS);
  // A command that is named needs no other; most of the time of a short one would be their loading.
  const one = Object.hasOwn(COMMANDS, named) ? COMMANDS[named] : undefined;
  const needed = VERSION.has(named) ? [] : one === undefined ? Object.values(COMMANDS) : [one];
  for (const load of needed) {
    program.addCommand((await load())(context).copyInheritedSettings(program));
  }
  try {
    await program.parseAsync(args, { from: 'user' });
    return context.exitCode;
  } catch (thrown) {
    // Help and wrong calls were printed already.
    if (thrown instanceof CommanderError) return thrown.exitCode === 0 ? EXIT.ok : EXIT.usage;
    const ofSystem = thrown instanceof Error && 'syscall' in thrown;
    const isExpected = thrown instanceof CommandFailure || thrown instanceof Unavailable || ofSystem;
    const words = isExpected ? thrown.message : String(thrown instanceof Error ? thrown.stack : thrown);
    context.writeError(`${harmless(words)}\n`);
    return thrown instanceof CommandFailure
      ? thrown.exitCode
      : ofSystem || thrown instanceof Unavailable
        ? EXIT.unreachable
        : EXIT.problems;
  }
}
