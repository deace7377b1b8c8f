/** What code behind walls takes too much of, or makes up, ends its own worker: the next call of it works, and so do others. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inRound } from '../../../test/support/round.ts';
import { findKernel } from '../../confinement/find-kernel.ts';
import { workerPolicy } from './worker-policy.ts';
import { networkedPool } from '../../../test/support/supervisor/networked-pool.ts';

const kernel = await findKernel('require');
const MB = 2 ** 20;
const policy = { ...workerPolicy, scratchBytes: 8 * MB, scratchFiles: 200, scratchCheckMs: 100, mostThreads: 100 };
const WROTE_TO_PIPE = /^The knowledge object wrote to the pipe of its own process$/;

const number = (value: number): string => Buffer.from(Uint32Array.of(value).buffer).toString('hex');
const frame = (kind: number, a: number, b: number, text: string): string =>
  number(Buffer.byteLength(text)) +
  Buffer.from([kind]).toString('hex') +
  number(a) +
  number(b) +
  Buffer.from(text).toString('hex');

const CODES = {
  node: `
import fs from 'node:fs';
import { tmpdir } from 'node:os';
const kept = [];
export async function run([what, ...given]) {
  const stay = () => new Promise(() => setInterval(() => undefined, 1000));
  if (what === 'disk') for (let i = 0; i < 16; i++) fs.appendFileSync(tmpdir() + '/large', Buffer.alloc(1e6, 1));
  if (what === 'files') for (let i = 0; i < 300; i++) fs.writeFileSync(tmpdir() + '/' + i, '');
  if (what === 'folders') for (let i = 0; i < 300; i++) fs.mkdirSync(tmpdir() + '/' + i);
  // Beside the heap that V8 counts.
  if (what === 'memory') for (let i = 0; i < 60; i++) { kept.push(Buffer.alloc(1e7, 1)); await new Promise(setImmediate); }
  if (what === 'write') fs.writeSync(given[0], Buffer.from(given[1], 'hex'));
  if (what === 'count') {
    // The file in which its worker counts what has begun has no descriptor any more.
    for (let fd = 5; fd < 64; fd++) try { if (fs.fstatSync(fd).size === 16) return 'open'; } catch {}
    return 'closed';
  }
  return what === 'quick' ? process.pid : stay();
}`,
  python: `
import ctypes, mmap, os, tempfile, threading, time
kept = []
def run(given):
    what = given[0]
    home = tempfile.gettempdir()
    if what == "quick":
        return os.getpid()
    if what == "disk":
        with open(home + "/large", "wb") as file:
            for _ in range(16):
                file.write(b"x" * 1_000_000)
    if what in ("files", "folders"):
        for i in range(300):
            os.mkdir(f"{home}/{i}") if what == "folders" else open(f"{home}/{i}", "w").close()
    if what == "threads":
        threading.stack_size(65_536)
        for _ in range(120):
            threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
    if what == "deep":
        os.chdir(home)
        for _ in range(30):
            os.mkdir("d" * 200)
            os.chdir("d" * 200)
        with open("large", "wb") as file:
            file.write(b"x" * 16_000_000)
    if what == "memory":
        # Shared memory is none that RLIMIT_DATA counts.
        kept.append(mmap.mmap(-1, 600_000_000))
        ctypes.memset(ctypes.addressof(ctypes.c_char.from_buffer(kept[0])), 1, 600_000_000)
    if what == "write":
        os.write(given[1], bytes.fromhex(given[2]))
    if what == "count":
        # Says that nothing has begun, and ends: what is run again does the same.
        os.pwrite(5, bytes(16), 0)
        os.kill(os.getpid(), 9)
    time.sleep(60)
`,
};

type Attack = readonly [input: readonly unknown[], why: RegExp];

const ATTACKS: readonly Attack[] = [
  [['disk'], /^The knowledge object wrote more than 8 MB of temporary files$/],
  [['files'], /^The knowledge object wrote more than 200 temporary files$/],
  [['memory'], /^The knowledge object passed its memory limit of 128 MB$/],
  [['folders'], /^The knowledge object wrote more than 200 temporary files$/],
  // Of a kind that no worker sends, an answer of no kind, and half of one that is too long.
  [['write', 3, frame(3, 1, 1, '{}')], WROTE_TO_PIPE],
  [['write', 4, frame(4, 2, 9, '{}')], WROTE_TO_PIPE],
  [['write', 3, `ffffffff04${number(1)}${number(1)}`], WROTE_TO_PIPE],
  // A failure of the call, which is the second, whose description nothing can turn into a text.
  [['write', 3, frame(4, 2, 1, '{"description":{"toString":1,"valueOf":1}}')], WROTE_TO_PIPE],
  [['write', 3, frame(4, 2, 1, '{"description":["no text"]}')], WROTE_TO_PIPE],
];
const OF_PYTHON: readonly Attack[] = [
  [['threads'], /^The knowledge object started more than 100 threads$/],
  [['deep'], /^The knowledge object made temporary files that cannot be counted: ENAMETOOLONG$/],
  [['count'], /ended unexpectedly \(SIGKILL\)/],
];

for (const engine of ['node', 'python'] as const) {
  const all = [...ATTACKS, ...(engine === 'python' ? OF_PYTHON : [])];
  // In every run each is tried from one of the two.
  const attacks = all.filter((attack, i) =>
    inRound(OF_PYTHON.includes(attack) || (i % 2 === 0) === (engine === 'node'), true),
  );
  test(`a worker that takes or makes up too much ends alone: ${engine}`, async (t) => {
    await using networked = await networkedPool({ engine, kernel, policy });
    const beside = await networked.define('naan/beside/v1', CODES[engine]);
    const neighbor = await beside.call(['quick']);
    for (const [input, why] of attacks)
      await t.test(JSON.stringify(input), async () => {
        const endpoint = await networked.define(
          `naan/hostile/v${String(attacks.findIndex(([each]) => each === input))}`,
          CODES[engine],
        );
        const worker = await endpoint.call(['quick']);
        assert.equal(typeof worker, 'number');
        assert.match(String(await endpoint.call(input)), why);
        const next = await endpoint.call(['quick']);
        assert.equal(typeof next, 'number', String(next));
        assert.notEqual(next, worker);
      });
    if (engine === 'node') assert.equal(await beside.call(['count']), 'closed');
    assert.equal(await beside.call(['quick']), neighbor);
  });
}
