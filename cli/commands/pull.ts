import { basename } from 'node:path';
import { Command } from 'commander';
import type { Context } from '../lib/context.ts';
import { findKey } from '../lib/named-ko.ts';
import { notThere } from '../lib/refusal.ts';
import { connect, withRemoteOptions } from '../lib/remote.ts';
import type { RemoteOptions } from '../lib/remote.ts';
import { fetchPackage } from '../lib/remote-package.ts';
import { saveFolder, saveZip } from '../lib/save-package.ts';
import { count } from '../lib/terminal.ts';

interface PullOptions extends RemoteOptions {
  readonly output?: string;
  readonly force?: boolean;
}

export function pullCommand(context: Context): Command {
  const command = new Command('pull')
    .description('Bring a knowledge object from an activator here')
    .argument('<id>', 'such as hello/welcome/v1.0; without the version the newest')
    .option(
      '-o, --output <dir|zip>',
      'where to write it; a zip where this ends with .zip (default: <naan>-<name>-<version> here)',
    )
    .option('--force', 'write over files that are there; others in that folder stay');
  return withRemoteOptions(command, 'address of the activator')
    .addHelpText(
      'after',
      `
Examples:
  kgrid pull hello/welcome/v1.0 --url http://127.0.0.1:8080
  kgrid pull hello/welcome -o welcome.zip
  kgrid pull hello/welcome/v1.0 -o welcome --force

Exit code: 0 written, 1 it is not there, 2 something would be overwritten, 3 the activator is out of reach.`,
    )
    .action(async (named: string, options: PullOptions) => {
      await pull(context, named, options);
    });
}

async function pull(context: Context, named: string, options: PullOptions): Promise<void> {
  const { terminal, client } = connect(context, options);
  const key = await findKey(named, client);
  terminal.progress(`fetching ${key} …`);
  await using found = await fetchPackage(client, key);
  if (found === undefined) throw notThere(key, client);
  const target = options.output ?? key.replaceAll('/', '-');
  const force = options.force === true;
  // Without --output it is a folder, whatever the version ends with.
  const isZip = options.output !== undefined && /\.zip$/i.test(basename(options.output));
  const others = isZip ? await saveZip(found.zip, target, force) : await saveFolder(found.source, target, force);
  const files = [...found.source.files.keys()];
  terminal.print(`${terminal.good(target)}: ${key} from ${client.url}, ${count(files.length, 'file')}`);
  for (const path of others) terminal.print(`  ${path} is not part of it, and was left as it is`);
  terminal.json({ ok: true, url: client.url, ko: key, output: target, files, others });
}
