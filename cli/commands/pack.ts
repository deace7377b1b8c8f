import { createHash } from 'node:crypto';
import { stat, writeFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { Command } from 'commander';
import { examineAll } from '../../src/check/examine.ts';
import { inspect, type Inspection } from '../../src/check/inspect.ts';
import { openFolder } from '../../src/check/ko-source.ts';
import { koKey } from '../../src/knowledge-object/id.ts';
import { messageOf } from '../../src/lib/errors.ts';
import type { Context } from '../lib/context.ts';
import { EXIT, type ExitCode, ioFailure, usageFailure } from '../lib/exit.ts';
import { pack, type Packed } from '../lib/pack.ts';
import { printFindings } from '../lib/report-checked.ts';
import { count } from '../lib/terminal.ts';

interface PackOptions {
  readonly output?: string;
  readonly tar?: boolean;
  readonly json?: boolean;
}

export function packCommand(context: Context): Command {
  return new Command('pack')
    .description('Make the zip, or tar, of a knowledge object; the same files always give the same bytes')
    .argument('<dir>', 'the folder of a knowledge object')
    .option('-o, --output <file>', 'where to write it (default: <naan>-<name>-<version>.zip here)')
    .option('--tar', 'make a .tar.gz; so does an output whose name ends with .tar.gz or .tgz')
    .option('--json', 'print the result as JSON')
    .addHelpText(
      'after',
      `
Examples:
  kgrid pack my-score                       writes <naan>-<name>-<version>.zip
  kgrid pack my-score -o dist/my-score.zip
  kgrid pack my-score --tar                 writes <naan>-<name>-<version>.tar.gz

Hidden files, node_modules, __pycache__ and the like stay behind, and are listed. Exit code: 0 packed, 1 problems.`,
    )
    .action(async (folder: string, options: PackOptions) => {
      context.exitCode = await packFolder(context, folder, options);
    });
}

async function packFolder(context: Context, folder: string, options: PackOptions): Promise<ExitCode> {
  const terminal = context.terminal(options);
  const kind = options.tar === true || /\.(?:tar\.gz|tgz)$/i.test(options.output ?? '') ? 'tar' : 'zip';
  const found = await inspectForPacking(folder, options.output);
  const [inspection = found] = await examineAll([found]);
  const { source, findings } = inspection;
  printFindings(source, findings, terminal);
  const problems = findings.filter(({ severity }) => severity === 'problem');
  if (problems.length > 0 || inspection.metadata === undefined) {
    terminal.print(terminal.bad(`${count(problems.length, 'problem')}: not packed`));
    terminal.json({ ok: false, source: source.label, findings });
    return EXIT.problems;
  }
  const { fileName, archive, packageDigest } = await pack(inspection, kind);
  const file = options.output ?? fileName;
  await write(file, archive);
  const sha256 = createHash('sha256').update(archive).digest('hex');
  for (const { path, why } of source.leftOut) terminal.print(`left out ${join(source.label, path)}: ${why}`);
  terminal.print(
    `${terminal.good(file)}: ${koKey(inspection.metadata.id)}, ${count(source.files.size, 'file')}, ${archive.length} bytes`,
  );
  terminal.print(terminal.dim(`sha256 of the ${kind}: ${sha256}`));
  terminal.print(terminal.dim(`KGrid-Package-Digest: ${packageDigest}`));
  terminal.json({
    ok: true,
    ko: koKey(inspection.metadata.id),
    file,
    bytes: archive.length,
    sha256,
    packageDigest,
    files: [...source.files.keys()],
    leftOut: source.leftOut,
    findings,
  });
  return EXIT.ok;
}

/** An archive that is written into the folder itself must not become part of the next one. */
async function inspectForPacking(folder: string, output: string | undefined): Promise<Inspection> {
  const found = await stat(folder).catch((cause: unknown) => {
    throw ioFailure(`There is no folder ${folder}`, cause);
  });
  if (!found.isDirectory())
    throw usageFailure(`${folder} is not a folder: pack takes the folder of a knowledge object`);
  const inspection = await inspect(await openFolder(folder));
  if (inspection.metadata === undefined) return inspection;
  const { naan, name, version } = inspection.metadata.id;
  const targets = new Set([
    `${naan}-${name}-${version}.zip`,
    `${naan}-${name}-${version}.tar.gz`,
    ...(output === undefined ? [] : [relative(folder, resolve(output))]),
  ]);
  if (![...targets].some((path) => inspection.source.files.has(path))) return inspection;
  return inspect(await openFolder(folder, targets));
}

async function write(file: string, archive: Packed['archive']): Promise<void> {
  try {
    await writeFile(file, archive);
  } catch (thrown) {
    throw ioFailure(`${file} cannot be written: ${messageOf(thrown)}`, thrown);
  }
}
