import { Command } from 'commander';
import type { Context } from '../lib/context.ts';
import { withRemoteOptions } from '../lib/remote.ts';
import { verifyAnswer } from '../verify/verify.ts';
import type { VerifyOptions } from '../verify/verify.ts';

export function verifyAnswerCommand(context: Context): Command {
  const command = new Command('verify-answer')
    .description('Run again what gave an answer, and say whether the result is the same')
    .argument('<file>', 'the whole answer of a call, as JSON; - reads standard input')
    .option('--shelf <folder>', 'take the packages from this shelf, kept ones too, and run them here')
    .option('--fleet <name>', 'name of the fleet, where the shelf is a database')
    .option('--ko <dir|zip>', 'run this knowledge object here, without any service')
    .option('--with <dir|zip...>', 'knowledge objects that it calls', [])
    .option('--endpoint <id>', 'the endpoint, where the answer has no provenance');
  return withRemoteOptions(command, 'run it at this activator')
    .addHelpText(
      'after',
      `
Examples:
  kgrid verify-answer answer.json --shelf /var/lib/kgrid
  kgrid verify-answer answer.json --ko my-score.zip
  kgrid verify-answer answer.json --url http://127.0.0.1:8080

An activator with --provenance tells in each answer which endpoint and which packages gave it. An activator that has the
shelf keeps others away from it: give --url then, or a copy of the shelf.
Exit code: 0 the same result from the same packages, 1 something differs or there is no result any more, 2 wrong call,
3 the activator, the shelf or the file is out of reach.`,
    )
    .action(async (file: string, options: VerifyOptions) => {
      context.exitCode = await verifyAnswer(context, file, options);
    });
}
