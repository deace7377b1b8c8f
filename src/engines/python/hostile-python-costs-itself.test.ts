import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { inRound } from '../../../test/support/round.ts';
import { failureOf, pythonCode } from '../../../test/support/python/python-code.ts';
import type { PythonCode } from '../../../test/support/python/python-code.ts';

/** Does as its input says. */
const HOSTILE = `
import os, re, sys, threading, time
from kgrid_python_runtime.context import Context
def later(path):
    time.sleep(0.2)
    open(path, "w").close()
def main(v):
    how = v[0]
    if how == "pid":
        return os.getpid()
    if how == "spin":
        while True:
            pass
    if how == "regex":
        return re.match("(a+)+$", "a" * 99 + "b")
    if how == "power":
        return len(str(7 ** 7 ** 7 ** 7))
    if how == "exit":
        os._exit(3)
    if how == "leave":
        sys.exit("left")
    if how == "fork":
        child = os.fork()
        if child == 0:
            return "twice"
        return "once"
    if how == "kill":
        os.kill(os.getpid(), 9)
    if how == "close":
        os.closerange(3, 64)
        time.sleep(30)
    if how == "write":
        os.write(v[1], bytes.fromhex(v[2]))
        time.sleep(v[3])
        return "wrote"
    if how == "thread":
        threading.Thread(target=later, args=(os.environ["HOME"] + "/later",)).start()
        return os.environ["HOME"] + "/later"
    if how == "exists":
        return os.path.exists(v[1])
    if how == "recurse":
        return main(v)
    if how == "grow":
        kept = []
        while True:
            kept.append(bytearray(1_000_000))
    if how == "ask":
        return Context().get_executor_by_id("a/b/1.0/run")(v[1])
    if how == "sleep":
        time.sleep(v[1])
        return v[1]
`;
const number = (value: number): string => Buffer.from(Uint32Array.of(value).buffer).toString('hex');
const frame = (kind: number, a: number, b: number, text: string): string =>
  number(Buffer.byteLength(text)) +
  Buffer.from([kind]).toString('hex') +
  number(a) +
  number(b) +
  Buffer.from(text).toString('hex');

for (const walls of inRound(['auto'] as const, ['auto', 'off'] as const))
  describe(`hostile code in python costs itself only, walls ${walls}`, () => {
    let python: PythonCode;
    before(async () => {
      python = await pythonCode(walls);
    });
    after(() => python[Symbol.asyncDispose]());
    const hostile = (): ReturnType<PythonCode['activate']> => python.activate({ 'src/main.py': HOSTILE });

    for (const how of inRound(['spin', 'regex'], ['spin', 'regex', 'power']))
      it(`ends ${how} at its limit, and the next call works`, async () => {
        const endpoint = await hostile();
        const pid = await python.call(endpoint, ['pid']);
        const { message } = await failureOf(python.call(endpoint, [how], 700));
        assert.equal(message, 'The call passed its time limit of 0.7 s');
        assert.notEqual(await python.call(endpoint, ['pid']), pid);
        await gone(Number(pid));
        endpoint.release();
      });

    for (const [how, why] of [
      ['exit', /\(exit code 3\)$/],
      ['kill', /\(SIGKILL\)$/],
      // What of the process sees the end of its pipes first decides how it ends.
      ['close', /closed the pipe of its own process$|ended unexpectedly \(exit code (?:0|70)\)$/],
    ] as const)
      it(`says that code did ${how} to its process, and the next call works`, async () => {
        const endpoint = await hostile();
        assert.match((await failureOf(python.call(endpoint, [how]))).message, why);
        assert.equal(typeof (await python.call(endpoint, ['pid'])), 'number');
        endpoint.release();
      });

    it('takes sys.exit, recursion and a full memory for errors of the call', async () => {
      const endpoint = await hostile();
      assert.equal((await failureOf(python.call(endpoint, ['leave']))).message, 'SystemExit: left');
      assert.match((await failureOf(python.call(endpoint, ['recurse']))).message, /^RecursionError: /);
      assert.match((await failureOf(python.call(endpoint, ['grow']))).message, /passed its memory limit/);
      assert.equal(typeof (await python.call(endpoint, ['pid'])), 'number');
      endpoint.release();
    });

    it('refuses a fork, or lets it have no calls and no answers', async () => {
      const endpoint = await hostile();
      if (walls === 'off') assert.equal(await python.call(endpoint, ['fork']), 'once');
      else assert.match((await failureOf(python.call(endpoint, ['fork']))).message, /^PermissionError: /);
      assert.equal(await python.call(endpoint, ['sleep', 0]), 0);
      endpoint.release();
    });

    it('believes forged frames no more than an answer of the code, and runs no call twice', async () => {
      const endpoint = await hostile();
      assert.equal(await python.call(endpoint, ['sleep', 0]), 0);
      // Its own answer, an answer of a call that is not there, and what only it would suffer from.
      for (const odd of [frame(4, 77, 0, '1'), frame(7, 0, 0, ''), frame(8, 0, 0, '')])
        assert.equal(await python.call(endpoint, ['write', 3, odd, 0.05]), 'wrote');
      endpoint.release();
    });

    it('lets threads outlive their call as long as the worker', async () => {
      const endpoint = await hostile();
      const path = String(await python.call(endpoint, ['thread']));
      while (!existsSync(path)) await wait(10);
      endpoint.release();
      while (existsSync(path)) await wait(10);
    });
  });

async function gone(pid: number): Promise<void> {
  for (;;) {
    const stat = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => '');
    if (stat === '' || stat.includes(') Z ')) return;
    await wait(10);
  }
}
