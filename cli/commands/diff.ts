import { Command } from 'commander';
import { Unavailable } from '../../src/check/findings.ts';
import { inspect } from '../../src/check/inspect.ts';
import { koKey } from '../../src/knowledge-object/id.ts';
import { notThere } from '../lib/client.ts';
import type { Context } from '../lib/context.ts';
import { CommandFailure, EXIT, type ExitCode, usageFailure } from '../lib/exit.ts';
import { openSource } from '../lib/open-sources.ts';
import { packageDifferences, printDifferences, printPatch, textDifference } from '../lib/package-differences.ts';
import { fetchPackage } from '../lib/remote-package.ts';
import { connect, findKey, type RemoteOptions, withRemoteOptions } from '../lib/remote.ts';

interface DiffOptions extends RemoteOptions {
  readonly text: boolean;
}

export function diffCommand(context: Context): Command {
  const command = new Command('diff')
    .description('Compare a knowledge object here with the one at an activator')
    .argument('<dir|zip>', 'the one here')
    .argument('[id]', 'the one there; when left out that of the same id')
    .option('--no-text', 'only name the files');
  return withRemoteOptions(command, 'address of the activator')
    .addHelpText(
      'after',
      `
Examples:
  kgrid diff my-score --url http://127.0.0.1:8080
  kgrid diff my-score test/score/v1.0 --no-text      with an older version

What push would add is "added", what would go with it "removed". Exit code: 0 the same, 1 different, 2 they could not be
compared.`,
    )
    .action(async (path: string, named: string | undefined, options: DiffOptions) => {
      context.exitCode = await compare(context, path, named, options).catch((thrown: unknown) => {
        // Like other programs that compare: 1 only means that there are differences.
        if (!(thrown instanceof CommandFailure || thrown instanceof Unavailable)) throw thrown;
        throw new CommandFailure(EXIT.usage, thrown.message, { cause: thrown });
      });
    });
}

async function compare(
  context: Context,
  path: string,
  named: string | undefined,
  options: DiffOptions,
): Promise<ExitCode> {
  const { terminal, client } = connect(context, options);
  await using here = await openSource(path);
  if (here.damage !== undefined) throw usageFailure(`${here.label}: ${here.damage}`);
  const key = named === undefined ? await keyOf(here) : await findKey(named, client);
  await using there = await fetchPackage(client, key);
  if (there === undefined) throw notThere(key, client);
  const found = await packageDifferences(there.source, here);
  const files: unknown[] = [];
  if (found.length === 0) terminal.print(`${here.label} is the same as ${key} at ${client.url}`);
  else terminal.print(`${here.label} differs from ${key} at ${client.url}:`);
  printDifferences(found, terminal);
  for (const each of found) {
    const patch = options.text ? await textDifference(each, there.source, here) : undefined;
    files.push({ ...each, ...(patch === undefined ? {} : { patch: patch.join('\n') }) });
    if (patch !== undefined) printPatch(patch, terminal);
  }
  terminal.json({ ok: true, same: found.length === 0, url: client.url, ko: key, files });
  return found.length === 0 ? EXIT.ok : EXIT.problems;
}

async function keyOf(source: Parameters<typeof inspect>[0]): Promise<string> {
  const { metadata } = await inspect(source);
  if (metadata === undefined)
    throw usageFailure(`${source.label} has no metadata.json that can be read: name the id to compare it with`);
  return koKey(metadata.id);
}
