import { constants } from 'node:fs';
import { copyFile, lstat, mkdir, readdir, realpath, rm } from 'node:fs/promises';
import { basename, dirname, join, sep } from 'node:path';
import { Command } from 'commander';
import type { KoSource } from '../../src/check/ko-source.ts';
import { listPackageFiles } from '../../src/check/package-files.ts';
import { messageOf } from '../../src/lib/errors.ts';
import { notThere } from '../lib/client.ts';
import type { Context } from '../lib/context.ts';
import { ioFailure, usageFailure } from '../lib/exit.ts';
import { fetchPackage } from '../lib/remote-package.ts';
import { connect, findKey, type RemoteOptions, withRemoteOptions } from '../lib/remote.ts';
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

// Writes a package that was fetched to where a person wants it; nothing that is there is lost unasked.

/** @throws CommandFailure where a file is there already, unless `force`. */
async function saveZip(zip: string, target: string, force: boolean): Promise<string[]> {
  try {
    await mkdir(dirname(target), { recursive: true });
    await copyFile(zip, target, force ? 0 : constants.COPYFILE_EXCL);
    return [];
  } catch (thrown) {
    throw cannotWrite(target, thrown);
  }
}

/**
 * Gives what was there and is no part of the package.
 * @throws CommandFailure where the folder is there and not empty, unless `force`.
 */
async function saveFolder({ folder, files }: KoSource, target: string, force: boolean): Promise<string[]> {
  try {
    await mkdir(target, { recursive: true });
    if (!force && (await readdir(target)).length > 0) throw isThere(target);
    const root = await realpath(target);
    for (const path of files.keys()) {
      const file = join(root, path);
      // A link in the folder of the person must not lead what an activator sent to elsewhere.
      const parent = await existing(dirname(file));
      if (parent !== root && !parent.startsWith(root + sep))
        throw usageFailure(`${join(target, dirname(path))} is a link that leads out of ${target}: take it away first`);
      await mkdir(dirname(file), { recursive: true });
      if (force && (await lstat(file).catch(() => undefined))?.isDirectory() === false) await rm(file);
      await copyFile(join(folder, path), file, constants.COPYFILE_EXCL);
    }
    const { files: all } = await listPackageFiles(root);
    return [...all.keys()].filter((path) => !files.has(path));
  } catch (thrown) {
    throw cannotWrite(target, thrown);
  }
}

/** Where the nearest folder that is there really lies. */
async function existing(folder: string): Promise<string> {
  try {
    return await realpath(folder);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'ENOENT') throw thrown;
    return existing(dirname(folder));
  }
}

const isThere = (target: string): Error =>
  usageFailure(`${target} is there already: choose another place with --output, or say --force to write over it`);

function cannotWrite(target: string, thrown: unknown): unknown {
  const { code, syscall } = thrown as NodeJS.ErrnoException;
  if (syscall === undefined) return thrown;
  return code === 'EEXIST' || code === 'ENOTDIR'
    ? isThere(target)
    : ioFailure(`${target} cannot be written: ${messageOf(thrown)}`, thrown);
}
