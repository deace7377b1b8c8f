/** Loads a server with `wrk` and reads its figures. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Bench } from './bench.ts';

/** Installs Debian's package where `wrk` is missing, as root or with sudo. @throws Error with what to do when it cannot. */
export function ensureWrk(say: (text: string) => void): void {
  // `wrk -v` ends with 1, so only that it starts is asked.
  const isThere = (): boolean => spawnSync('wrk', ['-v']).error === undefined;
  if (isThere()) return;
  say("wrk is missing: installing Debian's package wrk with apt-get");
  const sudo = process.getuid?.() === 0 ? '' : 'sudo ';
  const install = `${sudo}apt-get install -y wrk`;
  // Standard output is for the report alone.
  spawnSync('sh', ['-c', `{ ${install} || { ${sudo}apt-get update && ${install}; }; } >&2`], { stdio: 'inherit' });
  if (!isThere()) throw new Error('wrk could not be installed: put wrk on the PATH and start again');
}

/** One request of a load; several are sent in turn. The body is ASCII. */
export interface BenchRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: string;
}

/** Latencies are in milliseconds. */
export interface Measured {
  readonly rate: number;
  readonly requests: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly worst: number;
  readonly failed: number;
}

/** One thread of `wrk`, which is enough for any server here. @throws Error when `wrk` gives no figures. */
export async function measure(
  bench: Bench,
  url: string,
  requests: readonly BenchRequest[],
  connections: number,
  seconds = bench.seconds,
): Promise<Measured> {
  const script = join(bench.folder, `${crypto.randomUUID()}.lua`);
  await writeFile(script, luaOf(requests));
  const wrk = spawn('wrk', ['-t1', `-c${connections}`, `-d${seconds}s`, '-s', script, url], { signal: bench.signal });
  const [output, errors] = await Promise.all([text(wrk.stdout), text(wrk.stderr), once(wrk, 'close')]);
  const figures = /^FIGURES (.*)$/m.exec(output)?.[1];
  if (figures === undefined) throw new Error(`wrk gave no figures: ${output}${errors}`);
  return JSON.parse(figures) as Measured;
}

/** A JSON string of ASCII is one of Lua too. The percentiles are those that `--latency` prints, without its rounding. */
function luaOf(requests: readonly BenchRequest[]): string {
  const [first] = requests;
  const type = first?.body === undefined ? '' : 'wrk.headers["Content-Type"] = "application/json"';
  return [type, requests.length > 1 ? inTurn(requests) : always(first), DONE].join('\n');
}

function always(request: BenchRequest | undefined): string {
  if (request === undefined) throw new Error('a load needs a request');
  const { method, path, body } = request;
  return `wrk.method, wrk.path, wrk.body = ${[method, path, body].map(lua).join(', ')}`;
}

const inTurn = (requests: readonly BenchRequest[]): string => `
local requests, at = {}, 0
init = function()
  requests = {${requests.map(({ method, path, body }) => `wrk.format(${[method, path, undefined, body].map(lua).join(', ')})`).join(',\n')}}
end
request = function()
  at = at % #requests + 1
  return requests[at]
end`;

const lua = (value: string | undefined): string => (value === undefined ? 'nil' : JSON.stringify(value));

const DONE = `
done = function(summary, latency)
  local errors = summary.errors
  local ms = function(p) return latency:percentile(p) / 1000 end
  io.write(string.format('FIGURES {"rate":%.1f,"requests":%d,"p50":%.3f,"p95":%.3f,"p99":%.3f,"worst":%.3f,"failed":%d}\\n',
    summary.requests / (summary.duration / 1000000), summary.requests, ms(50), ms(95), ms(99), latency.max / 1000,
    errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end`;
