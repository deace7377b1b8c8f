/** `kgrid`: the commands of people who write knowledge objects. One command, one file. */
import { Command, CommanderError } from 'commander';
import { checkCommand } from './commands/check.ts';
import { createCommand } from './commands/create.ts';
import { packCommand } from './commands/pack.ts';
import { playCommand } from './commands/play.ts';
import { pushCommand } from './commands/push.ts';
import { testCommand } from './commands/test.ts';
import { processContext } from './lib/context.ts';
import { CommandFailure, EXIT } from './lib/exit.ts';

const ALWAYS = `
Exit codes: ${EXIT.ok} done, ${EXIT.problems} problems found, ${EXIT.usage} wrong call, ${EXIT.unreachable} activator or file out of reach
Reference: docs/authoring-commands.md`;

async function main(): Promise<number> {
  const context = processContext();
  const program = new Command('kgrid')
    .description('Write, check, try and publish knowledge objects')
    .exitOverride()
    .showHelpAfterError('(add --help to see how it is called)')
    .addHelpText('afterAll', ALWAYS);
  for (const command of [createCommand, playCommand, checkCommand, testCommand, packCommand, pushCommand])
    program.addCommand(command(context).copyInheritedSettings(program));
  try {
    await program.parseAsync(process.argv);
    return Number(process.exitCode ?? EXIT.ok);
  } catch (thrown) {
    // Help and wrong calls were printed already.
    if (thrown instanceof CommanderError) return thrown.exitCode === 0 ? EXIT.ok : EXIT.usage;
    const expected = thrown instanceof CommandFailure;
    process.stderr.write(`${expected ? thrown.message : String(thrown instanceof Error ? thrown.stack : thrown)}\n`);
    return expected ? thrown.exitCode : EXIT.problems;
  }
}

const exitCode = await main();
// What is left open, such as kept-alive connections, must not hold up the shell.
process.stdout.write('', () => process.exit(exitCode));
