/**
 * `node runtimes/node/bench.ts [connections] [rounds]`: a trivial knowledge object through this runtime against a bare
 * `node:http` server that does the same, in turns. Prints the ratios; needs `wrk` on the PATH.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const connections = process.argv[2] ?? '10';
const rounds = Number(process.argv[3] ?? 5);
const input = JSON.stringify({ name: 'Ada', doses: [1, 2, 3, 4, 5], note: 'a body of about one hundred bytes' });
const code = 'module.exports = ({ name, doses }) => ({ name, total: doses.reduce((sum, dose) => sum + dose, 0) });';
const bareServer = `
const run = (() => { const module = {}; ${code} return module.exports; })();
require('node:http').createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8').on('data', (chunk) => (body += chunk)).on('end', () => {
    const text = JSON.stringify({ result: run(JSON.parse(body)) });
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }).end(text);
  });
}).listen(0, '127.0.0.1', function () {
  console.log(JSON.stringify({ event: 'listening', url: 'http://127.0.0.1:' + this.address().port }));
});`;

const folder = await mkdtemp(join(tmpdir(), 'kgrid-node-bench-'));
const activator = createServer((request, response) => {
  request.resume().on('end', () => response.end(request.method === 'GET' ? code : '{"status": "new"}'));
});
activator.listen(0, '127.0.0.1');
await once(activator, 'listening');
const activatorUrl = `http://127.0.0.1:${(activator.address() as AddressInfo).port}`;
const bare = spawn(process.execPath, ['-e', bareServer], { stdio: ['ignore', 'pipe', 'inherit'] });
const runtime = spawn(process.execPath, [join(import.meta.dirname, 'main.ts')], {
  env: {
    PATH: process.env['PATH'],
    KGRID_PROXY_ADAPTER_URL: activatorUrl,
    KGRID_NODE_ENV_PORT: '0',
    KGRID_NODE_CACHE_DIR: folder,
  },
  stdio: ['ignore', 'pipe', 'inherit'],
});

try {
  await writeFile(join(folder, 'post.lua'), wrkScript());
  const [bareUrl, runtimeUrl] = await Promise.all([listening(bare), listening(runtime)]);
  await activate(runtimeUrl);
  const targets = [`${bareUrl}/`, `${runtimeUrl}/a/b/v1/c`] as const;
  for (const target of targets) await measure(target, 2);
  const ratios: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const rates = [0, 0];
    const spent = await processorTime();
    for (const index of round % 2 ? [1, 0] : [0, 1]) rates[index] = await measure(targets[index] ?? '', 3);
    const now = await processorTime();
    const each = now.map((time, index) =>
      ((time - (spent[index] ?? 0)) / ((rates[Math.min(index, 1)] ?? 1) * 3)).toFixed(1),
    );
    ratios.push((rates[1] ?? 0) / (rates[0] ?? 1));
    console.log(
      `round ${round + 1}: ratio ${ratios.at(-1)?.toFixed(2)}; µs a request: ${each[0]} bare, ${each[1]} runtime, ${each[2]} worker`,
    );
  }
  const sorted = ratios.sort((one, other) => one - other);
  console.log(`${connections} connections: median ${sorted[sorted.length >> 1]?.toFixed(2)} of bare`);
} finally {
  bare.kill();
  runtime.kill();
  activator.close();
  await once(runtime, 'exit');
  await rm(folder, { recursive: true, force: true });
}

async function listening(child: ChildProcess): Promise<string> {
  if (!child.stdout) throw new Error('no output');
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
  return (JSON.parse(line) as { url: string }).url;
}

async function activate(url: string): Promise<void> {
  const response = await fetch(`${url}/endpoints`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      uri: 'a/b/v1/c',
      baseUrl: `${activatorUrl}/proxy/artifacts/a/b/v1/`,
      artifact: ['a.js'],
      entry: 'a.js',
      function: 'main',
    }),
  });
  if (!response.ok) throw new Error(await response.text());
}

/** Microseconds that the bare server, the runtime and its worker have used so far. */
async function processorTime(): Promise<number[]> {
  const children = await readFile(`/proc/${runtime.pid}/task/${runtime.pid}/children`, 'utf8');
  const pids = [bare.pid, runtime.pid, Number(children.trim().split(' ')[0])];
  const stats = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/stat`, 'utf8')));
  return stats.map((stat) => {
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) * 10_000;
  });
}

/** Requests a second; an error where an answer was not a success. */
async function measure(url: string, seconds: number): Promise<number> {
  const wrk = spawn('wrk', ['-t1', `-c${connections}`, `-d${seconds}s`, '-s', join(folder, 'post.lua'), url]);
  let output = '';
  wrk.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  await once(wrk, 'close');
  if (/Non-2xx/.test(output)) throw new Error(output);
  return Math.round(Number(/Requests\/sec:\s+([\d.]+)/.exec(output)?.[1]));
}

function wrkScript(): string {
  return ["wrk.method = 'POST'", `wrk.body = '${input}'`, "wrk.headers['content-type'] = 'application/json'"].join(
    '\n',
  );
}
