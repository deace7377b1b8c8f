import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Command } from 'commander';
import { koKey } from '../../src/knowledge-object/id.ts';
import type { Context } from '../lib/context.ts';
import { ioFailure, usageFailure } from '../lib/exit.ts';
import { informationPage } from '../lib/information-page.ts';
import { inspect } from '../../src/check/inspect.ts';
import type { Inspection } from '../../src/check/inspect.ts';
import { openSource } from '../lib/open-sources.ts';

interface PageOptions {
  readonly force?: boolean;
  readonly out?: string;
  readonly json?: boolean;
}

const PAGE = 'index.html';

export function pageCommand(context: Context): Command {
  return new Command('page')
    .description('Write the information page of a knowledge object, from its metadata and descriptors')
    .argument('<dir|zip>', 'the knowledge object')
    .option('--out <file>', `where to write (default: ${PAGE} in the folder)`)
    .option('--force', 'overwrite what is there')
    .option('--json', 'print the result as JSON')
    .addHelpText(
      'after',
      `
Examples:
  kgrid page my-score                   writes my-score/${PAGE}, which lists at an activator link to
  kgrid page my-score.zip --out page.html

The page loads nothing from elsewhere. Its forms call the activator whose address the reader gives.`,
    )
    .action(async (path: string, options: PageOptions) => {
      await writePage(context, path, options);
    });
}

async function writePage({ terminal: open }: Context, path: string, options: PageOptions): Promise<void> {
  const terminal = open(options);
  await using source = await openSource(path);
  if (source.damage !== undefined) throw usageFailure(`${source.label}: ${source.damage}`);
  if (source.isArchive && options.out === undefined)
    throw usageFailure(`${source.label} is an archive: say with --out where to write the page`);
  const inspection = await inspect(source);
  const { metadata, ko, findings } = inspection;
  if (metadata === undefined) {
    const why = findings[0]?.message ?? 'it has no metadata.json';
    throw usageFailure(`${source.label} has no metadata that can be read: ${why}`);
  }
  const file = options.out ?? join(path, PAGE);
  if (options.force !== true && existsSync(file))
    throw usageFailure(`${file} is there already: give --force to overwrite it, nothing was changed`);
  const page = informationPage({ metadata, ko, examples: examplesOf(inspection) });
  await writeFile(file, page, { flag: options.force === true ? 'w' : 'wx' }).catch((thrown: unknown) => {
    throw ioFailure(`${file} cannot be written: ${thrown instanceof Error ? thrown.message : String(thrown)}`, thrown);
  });
  terminal.print(`${terminal.good('Wrote')} ${file}: ${koKey(metadata.id)}`);
  if (metadata.title === undefined) terminal.print('  It has no title: the page shows its id');
  terminal.json({ ok: true, ko: koKey(metadata.id), file });
}

/** Gives the first example of each path that is to succeed, as indented JSON. */
function examplesOf({ examples }: Inspection): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const { endpoint, body, contentType, expected } of examples) {
    if (expected.kind === 'error' || body === undefined || contentType !== 'application/json') continue;
    if (!found.has(endpoint)) found.set(endpoint, JSON.stringify(JSON.parse(body), undefined, 2));
  }
  return found;
}
