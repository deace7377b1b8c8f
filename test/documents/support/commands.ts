/** Runs the commands that a document shows, and compares what they answer with what it says they do. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { blocksOf, wordOf } from './markdown.ts';
import type { Block } from './markdown.ts';
import { PROJECT, read } from './project.ts';

/** Where the documents say that the service is. */
const SHOWN_ADDRESS = 'http://127.0.0.1:8080';

const KGRID = `node ${join(PROJECT, 'cli/kgrid.js')}`;

export interface Place {
  /** The service. */
  readonly url: string;
  /** Where commands run. */
  readonly folder: string;
  /** Where files of knowledge objects are put: `my-shelf` in commands. */
  readonly shelf: string;
}

/**
 * Goes through a document from top to bottom:
 * - a block with `file=<path>` is written below the shelf;
 * - a block ```` ```sh ```` is run, unless it says `not-run`;
 * - a block with `answer` is what the commands before it must have printed, where `…` stands for anything and white
 *   space does not count.
 * @returns how many blocks were run.
 */
export async function runDocument(path: string, place: Place): Promise<number> {
  let ran = 0;
  let printed: string | undefined;
  for (const block of blocksOf(read(path))) {
    const file = wordOf(block, 'file');
    if (file !== undefined) await put(join(place.shelf, file), block.text);
    else if (block.words.includes('answer')) {
      assert.ok(printed !== undefined, `${path}:${block.line}: no commands stand before this answer`);
      assertShown(printed, block, path);
    } else if (block.language === 'sh' && !block.words.includes('not-run')) {
      printed = await run(block, place, path);
      ran++;
    }
  }
  return ran;
}

async function put(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
}

function run(block: Block, { url, folder, shelf }: Place, path: string): Promise<string> {
  const script = block.text
    .replaceAll(SHOWN_ADDRESS, url)
    .replaceAll('my-shelf', shelf)
    // In the folder of the project, `npx` finds this.
    .replaceAll('npx kgrid', KGRID);
  const env = { PATH: `${join(PROJECT, 'node_modules/.bin')}:${process.env['PATH'] ?? ''}`, HOME: folder };
  return new Promise((resolve, reject) => {
    execFile('bash', ['-eu', '-c', script], { cwd: folder, env, timeout: 600_000 }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout.replaceAll(url, SHOWN_ADDRESS).replaceAll(shelf, 'my-shelf'));
      else reject(new Error(`${path}:${block.line}: ${error.message}\n${stdout}\n${stderr}`));
    });
  });
}

const withoutSpace = (text: string): string => text.replace(/\s+/g, '');
const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');

function assertShown(printed: string, block: Block, path: string): void {
  const pattern = withoutSpace(block.text).split('…').map(escaped).join('[\\s\\S]*?');
  const fits = new RegExp(`^${pattern}$`).test(withoutSpace(printed));
  assert.ok(fits, `${path}:${block.line} shows\n${block.text}\nbut this was printed:\n${printed}`);
}
