import { Command } from 'commander';
import type { Context } from '../lib/context.ts';
import { withRemoteOptions } from '../lib/remote.ts';
import type { RemoteOptions } from '../lib/remote.ts';
import { runAll } from '../run/run-all.ts';
import type { RunOptions } from '../run/settings.ts';

export function runCommand(context: Context): Command {
  const repeated = (each: string, before: readonly string[]): string[] => [...before, each];
  const command = new Command('run')
    .description('Run all records of a CSV, NDJSON or Parquet file through an endpoint')
    .argument('<endpoint>', 'such as cpic/warfarin/1.0/dose, or its whole address')
    .argument('<input>', 'a .csv, .tsv, .ndjson, .jsonl or .parquet file; - reads standard input')
    .option('-o, --output <file>', 'where results go (default: standard output)')
    .option('--from <format>', 'csv, ndjson or parquet, where the ending of the input does not say')
    .option('--to <format>', 'the same of the output (default for pipes: that of the input, and NDJSON of Parquet)')
    .option('--delimiter <character>', 'between the columns of CSV')
    .option('--map <input=column>', 'take this input from that column; may be said again', repeated, [])
    .option('--join', 'write all input columns beside the results')
    .option('--id-column <column>', 'write this input column beside the results')
    .option('--concurrency <n>', 'requests on their way at once', '4')
    .option('--retries <n>', 'how often to try again in a row where the service does not answer', '8')
    .option('--max-failures <n>', 'stop once more records than that have failed')
    .option('--failures <file>', 'where records that failed go (default: <output>.failed.ndjson)')
    .option('--resume', 'go on where a run that was interrupted ended')
    .option('--force', 'write over files that are there')
    .option('--ko <dir|zip>', 'run this knowledge object here, without any service')
    .option('--with <dir|zip...>', 'knowledge objects that it calls', []);
  return withRemoteOptions(command, 'address of the activator')
    .addHelpText(
      'after',
      `
Examples:
  kgrid run cpic/warfarin/1.0/dose cohort.csv -o doses.csv --url http://127.0.0.1:8080
  kgrid run http://127.0.0.1:8080/cpic/warfarin/1.0/dose cohort.ndjson -o doses.csv --join
  kgrid run dose cohort.csv --ko examples/cpic-warfarin-v1.0 --id-column patient -o doses.csv
  kgrid run cpic/warfarin/1.0/dose cohort.csv -o doses.csv --resume

Columns are inputs by their names, those with dots inputs within others. Exit code: 0 all records have a result, 1 some
failed or the run stopped before its end, 2 nothing was done.`,
    )
    .action(async (endpoint: string, input: string, options: RunOptions & RemoteOptions) => {
      context.exitCode = await runAll(context, endpoint, input, options);
    });
}
