import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { Command, Option } from 'commander';
import { isInstalled } from '../../src/build.ts';
import { RESERVED_NAANS, isKoPart, koKey } from '../../src/knowledge-object/id.ts';
import type { KoId } from '../../src/knowledge-object/id.ts';
import { messageOf } from '../../src/lib/errors.ts';
import type { Context } from '../lib/context.ts';
import { ENGINE_NAMES } from '../../src/check/engines.ts';
import { ioFailure, usageFailure } from '../lib/exit.ts';
import { listPackageFiles } from '../../src/check/package-files.ts';
import type { Terminal } from '../lib/terminal.ts';

interface CreateOptions {
  readonly engine: string;
  readonly model: '1' | '2';
  readonly typescript?: boolean;
  readonly naan?: string;
  readonly name?: string;
  readonly version?: string;
  readonly title?: string;
  readonly json?: boolean;
}

const TEMPLATES = join(import.meta.dirname, '../../templates');

export function createCommand({ terminal }: Context): Command {
  return new Command('create')
    .description('Make the folder of a new knowledge object, which runs at once')
    .argument(
      '<name|dir>',
      'the folder to make; its name is that of the knowledge object, unless --name says otherwise',
    )
    .addOption(new Option('--engine <engine>', 'what runs it').choices(ENGINE_NAMES).default('javascript'))
    .addOption(
      new Option('--model <generation>', 'the model of its metadata; 2 for javascript and python')
        .choices(['1', '2'])
        .default('1'),
    )
    .option('--typescript', 'with --model 2: code in TypeScript')
    .option('--naan <naan>', 'who gives out the name: a number, or a word (default: example)')
    .option('--name <name>', 'name of the knowledge object: letters, digits and periods')
    .option('--version <version>', 'its version (default: v1.0)')
    .option('--title <title>', 'its title (default: its name)')
    .option('--json', 'print the result as JSON')
    .addHelpText(
      'after',
      `
Examples:
  kgrid create bleeding-risk --naan cardiology --name bleedingrisk
  kgrid create cardiology-bleedingrisk-v1.0          takes naan, name and version from the folder's name
  kgrid create my-model --engine python
  kgrid create reference-card --engine resource
  kgrid create my-score --model 2                    also for the activators in Deno and Python
  kgrid create my-score --model 2 --typescript
  kgrid create my-model --model 2 --engine python    an installable package`,
    )
    .action(async (folder: string, options: CreateOptions) => {
      await create(terminal(options), folder, options);
    });
}

async function create(terminal: Terminal, folder: string, options: CreateOptions): Promise<void> {
  const id = idFor(folder, options);
  const title = options.title ?? id.name;
  if (/\p{Cc}/u.test(title)) throw usageFailure('--title must be one line of text');
  const apiVersion = id.version.replace(/^v(?=\d)/i, '');
  await requireEmpty(folder);
  const template = join(TEMPLATES, templateOf(options));
  // Below a word of its own no package has the name of a module of Python.
  const values = { ...id, apiVersion, title, package: `ko_${id.name.toLowerCase().replaceAll('.', '_')}` };
  const { files } = await listPackageFiles(template);
  for (const path of files.keys()) {
    const text = await readFile(join(template, path), 'utf8');
    const target = join(folder, path.replace('{{package}}', values.package));
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, fillIn(text, path, values), { flag: 'wx' });
  }
  const made = [...files.keys()].map((path) => path.replace('{{package}}', values.package));
  report(terminal, folder, options.engine, koKey(id), made);
}

/** The folder of the template. @throws CommandFailure. */
function templateOf({ engine, model, typescript }: CreateOptions): string {
  if (model === '1') {
    if (typescript === true) throw usageFailure('--typescript needs --model 2');
    return engine;
  }
  if (engine === 'python' && typescript !== true) return 'python-2';
  if (engine === 'javascript') return typescript === true ? 'typescript-2' : 'javascript-2';
  const why = typescript === true ? '--typescript is for the engine javascript' : `--model 2 has no engine ${engine}`;
  throw usageFailure(`${why}: use --engine javascript or --engine python`);
}

/** "Letters, digits and periods only inside each part." */
function idFor(folder: string, { naan, name, version }: CreateOptions): KoId {
  const base = basename(resolve(folder));
  const [, ofNaan, ofName, ofVersion] = /^([A-Za-z0-9.]+)-([A-Za-z0-9.]+)-(v?\d+(?:\.\d+)*)$/.exec(base) ?? [];
  const id = {
    naan: naan ?? ofNaan ?? 'example',
    name: name ?? ofName ?? base.replace(/[^A-Za-z0-9.]/g, ''),
    version: version ?? ofVersion ?? 'v1.0',
  };
  for (const [part, text] of Object.entries(id)) {
    if (!isKoPart(text))
      throw usageFailure(
        `The ${part} ${JSON.stringify(text)} cannot be used: give --${part} in 1 to 64 letters, digits and periods`,
      );
  }
  if (RESERVED_NAANS.has(id.naan))
    throw usageFailure(`The naan ${id.naan} is a path of the activator itself: choose another`);
  return id;
}

/** Nothing that is there is overwritten. */
async function requireEmpty(folder: string): Promise<void> {
  try {
    if ((await readdir(folder)).length === 0) return;
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    if (code === 'ENOENT') return;
    if (code !== 'ENOTDIR') throw ioFailure(`${folder} cannot be used: ${messageOf(thrown)}`, thrown);
  }
  throw usageFailure(`${folder} is there already and not empty: choose another folder, nothing was changed`);
}

/** Texts in JSON, YAML and TOML stand between double quotes there. */
function fillIn(text: string, path: string, values: Readonly<Record<string, string>>): string {
  const quoted = /\.(json|yaml|toml)$/.test(path);
  return text.replace(/\{\{(\w+)\}\}/g, (whole, key: string) => {
    const value = values[key];
    if (value === undefined) return whole;
    return quoted ? JSON.stringify(value).slice(1, -1) : value;
  });
}

function report(terminal: Terminal, folder: string, engine: string, ko: string, files: readonly string[]): void {
  terminal.print(`${terminal.good('Created')} ${join(folder, '/')}: ${ko}, engine ${engine}`);
  for (const path of files) terminal.print(`  ${path}`);
  terminal.print();
  terminal.print('Next:');
  const steps = [
    ['play', 'serve it, and again after each change'],
    ['test', 'run its worked examples'],
    ['check', 'name everything that is wrong'],
    ['push', 'bring it to an activator (--url http://…)'],
  ] as const;
  const named = /\s/.test(folder) ? `"${folder}"` : folder;
  for (const [command, what] of steps)
    terminal.print(`  ${isInstalled ? 'kgrid' : 'npx kgrid'} ${command.padEnd(5)} ${named}   ${terminal.dim(what)}`);
  terminal.json({ ok: true, ko, engine, folder, files });
}
