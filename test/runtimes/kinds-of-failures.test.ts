/** Programs can tell by the header `KGrid-Error` what became of a call, whatever engine ran it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pathOf } from '../acceptance/support/knowledge-grid.ts';
import { ko, uniqueNaan, zipOf } from '../acceptance/support/ko.ts';
import type { Ko } from '../acceptance/support/ko.ts';
import { theWorkersService } from './support/the-services.ts';

const naan = uniqueNaan();
const { service } = await theWorkersService();

const SCRIPT = `
function run({ what }) {
  if (what === 'throw') throw new TypeError('no');
  if (what === 'loop') for (;;);
  if (what === 'memory') { const kept = []; for (;;) kept.push(new Array(1e5).fill(kept.length + 0.5)); }
  if (what === 'exit') process.exit(3);
  if (what === 'nan') return { a: [NaN] };
  if (what === 'cycle') { const a = {}; a.a = a; return a; }
  if (what === 'large') return 'x'.repeat(21e6);
  return what;
}
`;
const CODES = {
  javascript: SCRIPT,
  node: `${SCRIPT}module.exports = { run };\n`,
  python: `
import os
def run(given):
    what = given["what"]
    if what == "throw":
        raise TypeError("no")
    while what == "loop":
        pass
    kept = []
    while what == "memory":
        kept.append(bytearray(4_000_000))
    if what == "exit":
        os._exit(3)
    if what == "nan":
        return {"a": [float("nan")]}
    if what == "cycle":
        kept.append(kept)
        return kept
    return "x" * 21_000_000 if what == "large" else what
`,
};
const FAULTS = {
  throw: 'code-error',
  loop: 'execution-timeout',
  memory: 'out-of-memory',
  exit: 'process-ended',
  nan: 'invalid-result',
  cycle: 'invalid-result',
  large: 'invalid-result',
};

function koOf(engine: keyof typeof CODES): Ko {
  const artifact = engine === 'python' ? 'src/main.py' : 'src/main.js';
  const deployment = (timeout: string): Record<string, string> => ({ engine, artifact, function: 'run', timeout });
  return ko({
    ...{ naan, name: engine, files: { [artifact]: CODES[engine] }, metadata: { hasPayload: artifact } },
    endpoints: [
      { path: '/run', consumes: ['application/json'], deployment: deployment('60s') },
      { path: '/hasty', consumes: ['application/json'], deployment: deployment('300ms') },
    ],
  });
}

for (const engine of ['javascript', 'node', 'python'] as const) {
  test(`each kind of failure has its code: ${engine}`, async () => {
    const it = koOf(engine);
    await service.serve(it);
    for (const [what, code] of Object.entries(FAULTS)) {
      if (what === 'exit' && engine === 'javascript') continue;
      const answer = await service.post(pathOf(it, what === 'loop' ? 'hasty' : 'run'), { what });
      assert.deepEqual([what, answer.status, answer.headers['kgrid-error']], [what, 500, code], answer.text);
      assert.match(String(answer.object['Detail']), /^Code execution error: /);
    }
    const records = ['throw', 'nan', 'well'].map((what) => JSON.stringify({ what })).join('\n');
    const batch = await service.send('POST', pathOf(it), {
      headers: { 'content-type': 'application/x-ndjson' },
      body: records,
    });
    const lines = batch.text.trim().split('\n');
    const codes = lines.map((line) => (JSON.parse(line) as { error?: { Code: string } }).error?.Code);
    assert.deepEqual(codes, ['code-error', 'invalid-result', undefined]);
    const { text } = await service.get('/actuator/prometheus');
    for (const code of new Set(['code-error', 'execution-timeout', 'out-of-memory', 'invalid-result']))
      assert.ok(text.split('\n').some((line) => line.includes(`ko="${naan}/${engine}"`) && line.includes(`"${code}"`)));
  });
}

test('what failed to activate has another code than what is not there', async () => {
  const failing = ko({
    ...{ naan, name: 'failing', files: { 'src/main.js': 'function run( {' } },
    endpoints: [
      {
        path: '/run',
        consumes: ['application/json'],
        deployment: { engine: 'javascript', artifact: 'src/main.js', function: 'run' },
      },
    ],
  });
  await service.importZip(await zipOf(failing.files));
  const idle = await service.post(pathOf(failing), {});
  await service.get(`/actuator/activation/reload/${failing.id}`);
  const failed = await service.post(pathOf(failing), {});
  const unknown = await service.post(pathOf({ ...failing, name: 'unknown' }), {});
  for (const [answer, code] of [
    [idle, 'endpoint-not-active'],
    [failed, 'endpoint-not-active'],
    [unknown, 'endpoint-not-found'],
  ] as const)
    assert.deepEqual([answer.status, answer.headers['kgrid-error']], [404, code], answer.text);
});

/** Writes to the pipe of its own process, for whatever number its work has, an answer that only single calls get. */
const FORGERS = {
  node: `
const { writeSync } = require('node:fs');
exports.run = () => {
  for (let number = 1; number < 50; number++) {
    const frame = Buffer.alloc(15);
    frame.writeUInt32LE(2, 0);
    frame[4] = 4;
    frame.writeUInt32LE(number, 5);
    frame.write('{}', 13);
    writeSync(3, frame);
  }
  return new Promise((resolve) => setTimeout(resolve, 60_000));
};
`,
  python: `
import os, struct, time
def run(given):
    for number in range(1, 50):
        os.write(3, struct.pack("<IBII", 2, 4, number, 0) + b"{}")
    time.sleep(60)
`,
};

for (const engine of ['node', 'python'] as const) {
  test(`answers that the code of records makes up are its own fault: ${engine}`, async () => {
    const artifact = engine === 'python' ? 'src/main.py' : 'src/main.js';
    const forger = ko({
      ...{ naan, name: `forger${engine}`, files: { [artifact]: FORGERS[engine] } },
      endpoints: [{ path: '/run', consumes: ['application/json'], deployment: { engine, artifact, function: 'run' } }],
    });
    await service.serve(forger);
    const answer = await service.send('POST', pathOf(forger), {
      headers: { 'content-type': 'application/x-ndjson' },
      body: '{}',
    });
    const { error } = JSON.parse(answer.text) as { error: Record<string, string> };
    assert.equal(error['Code'], 'process-ended', answer.text);
    assert.match(String(error['Detail']), /The knowledge object wrote to the pipe of its own process$/);
  });
}
