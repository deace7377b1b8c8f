import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { promisify } from 'node:util';

const HELPER = resolve(import.meta.dirname, '../../test/support/stalled-reader.py');
const IMPORT = `import { Output } from ${JSON.stringify(new URL('./output.ts', import.meta.url).href)};
  const output = new Output(1);
  process.on('exit', () => output.flush());`;
const LINES = 20_000;
/** Bytes, which no pipe or terminal takes while nobody reads. */
const LENGTH = 1000;

/** A program that writes without a pause, says how it went on standard error, and goes on after a while. */
const FLOOD = `${IMPORT}
  output.onTakenAgain = (lost) => output.write('lost ' + lost + '\\n');
  const before = process.memoryUsage().rss;
  for (let i = 0; i < ${LINES}; i++) output.write(String(i).padEnd(${LENGTH - 1}, '.') + '\\n');
  process.stderr.write(JSON.stringify({ lost: output.lost, grown: process.memoryUsage().rss - before }) + '\\n');
  const look = setInterval(() => {
    // Its reader reads again once this is taken.
    if (output.lost === lost) { if (++calm === 3) clearInterval(look); } else calm = 0;
    lost = output.lost;
    output.write('later\\n');
  }, 50);
  let lost = -1, calm = 0;`;

for (const kind of ['pipe', 'socket', 'terminal']) {
  test(`a reader that stalls holds up nothing, and what it did not take is counted: ${kind}`, async () => {
    const args = [HELPER, kind, process.execPath, '--input-type=module', '--eval', FLOOD];
    const child = spawn('python3', args, { stdio: ['pipe', 'pipe', 'pipe'] });
    const ended = once(child, 'close');
    const [said] = (await once(createInterface({ input: child.stderr }), 'line')) as [string];
    const { lost, grown } = JSON.parse(said) as { lost: number; grown: number };
    assert.ok(lost > 0 && lost < LINES, `${lost} lost`);
    assert.ok(grown < 60e6, `${grown} bytes`);

    child.stdin.end('\n');
    const lines: string[] = [];
    for await (const line of createInterface({ input: child.stdout })) lines.push(line);
    assert.deepEqual(await ended, [0, null]);
    const numbered = lines.filter((line) => line.length === LENGTH - 1);
    const told = lines.filter((line) => line.startsWith('lost ')).map((line) => Number(line.slice(5)));
    const later = lines.filter((line) => line === 'later').length;
    assert.equal(lines.length, numbered.length + told.length + later, 'every line is whole');
    assert.deepEqual(
      numbered.map((line) => parseInt(line)),
      numbered.map((_line, i) => i),
      'in the order in which they were written',
    );
    assert.ok(told.reduce((sum, each) => sum + each, 0) >= LINES - numbered.length, told.join(' '));
    assert.ok(later > 0);
  });
}

const run = promisify(execFile);
const WHOLE = `for (let i = 0; i < 2000; i++) output.write(String(i).padEnd(${LENGTH - 1}, '.') + '\\n');`;

for (const [end, code] of [
  ['its work is done', ''],
  ['it exits', 'process.exit(0);'],
  ['an error ends it', `throw new Error('expected');`],
] as const) {
  test(`what was written comes out in full when ${end}`, async () => {
    const program = ['--input-type=module', '--eval', `${IMPORT} ${WHOLE} ${code}`];
    const outcome = await run(process.execPath, program, { maxBuffer: 1e8 }).catch(
      (thrown: unknown) => thrown as { stdout: string },
    );
    assert.equal(outcome.stdout.length, 2000 * LENGTH);
  });
}

test('a process whose reader is gone, or never reads, ends all the same', async () => {
  const program = `${IMPORT} ${WHOLE} ${WHOLE} ${WHOLE} process.stderr.write('done ' + output.lost);`;
  const args = ['-c', `"$0" --input-type=module --eval "$1" | true`, process.execPath, program];
  assert.match((await run('sh', args)).stderr, /^done \d+$/);

  const stalled = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  stalled.stdout.pause();
  assert.deepEqual(await once(stalled, 'exit'), [0, null]);
  stalled.stdout.destroy();
});

test('lines go to a file beside those of others', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'kgrid-output-'));
  try {
    const file = join(folder, 'log');
    const program = `${IMPORT} output.write('mine\\n');`;
    await run('sh', [
      '-c',
      `(echo before; "$0" --input-type=module --eval "$1"; echo after) > "$2"`,
      process.execPath,
      program,
      file,
    ]);
    assert.equal(await readFile(file, 'utf8'), 'before\nmine\nafter\n');
  } finally {
    await rm(folder, { recursive: true });
  }
});
