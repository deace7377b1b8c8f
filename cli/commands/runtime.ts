import { Command } from 'commander';
import type { Context } from '../lib/context.ts';
import { CommandFailure } from '../lib/exit.ts';

interface Options {
  readonly engine: string;
  readonly activator?: string;
}

export function runtimeCommand(context: Context): Command {
  return new Command('runtime')
    .description('Run knowledge objects of an activator on this machine')
    .requiredOption('--engine <names>', 'node, python, or both with a comma between')
    .option('--activator <url>', 'address of the activator (default: KGRID_PROXY_ADAPTER_URL, http://localhost:8080)')
    .addHelpText(
      'after',
      `
Each engine listens on a port of its own, 3000 for node and 5000 for python, and registers at the activator. All
settings are variables: see runtimes/server/README.md.

Examples:
  kgrid runtime --engine python --activator http://ann:secret@activator.example:8080
  KGRID_PYTHON_ENV_URL=http://this-machine.example:5000 kgrid runtime --engine node,python

Exit code: 0 stopped by a signal; 2 a setting cannot be used; 1 it cannot start.`,
    )
    .action(async ({ engine, activator }: Options) => {
      const { runRuntimes, whyNot } = await import('../../runtimes/server/run.ts');
      try {
        await runRuntimes(engine, activator, context.env, context.interrupted());
      } catch (thrown) {
        const { message, exitCode } = whyNot(thrown);
        throw new CommandFailure(exitCode, message);
      }
    });
}
