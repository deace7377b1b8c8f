/** Many knowledge objects, paths, methods and scrapes: series stay as few as they may be, and callers do not wait for them. */
import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { readFileSync } from 'node:fs';
import { METHODS } from 'node:http';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { sender } from '../acceptance/support/client.ts';
import { javascriptKo } from '../acceptance/support/ko.ts';
import type { Ko } from '../acceptance/support/ko.ts';
import { startService, temporaryFolder } from '../acceptance/support/service.ts';
import { inRound } from '../support/round.ts';
import { promtool } from './support/prometheus.ts';
import { scrape, seriesIn } from './support/series.ts';

const KOS = inRound(50, 10_000);
const OWN_SERIES = inRound(20, 1000);
const PATHS = inRound(100, 5000);
const SECONDS_OF_SCRAPES = inRound(1, 10);
const SCRAPES_PER_SECOND = 50;
/** Of a core, beside what is there without them: making the texts, and sending them. A second of a busy machine tells little. */
const MOST_OF_A_CORE = inRound(1, 0.4);
const AT_ONCE = 32;

const kos = Array.from({ length: KOS }, (_, i) =>
  javascriptKo('function run(input) { return input; }', { naan: 'many', name: `ko${i}` }),
);
const folder = await temporaryFolder();
await inTurns(kos, (ko) => putFolder(folder.path, ko));
const args = ['--metrics-endpoints', String(OWN_SERIES)];
const service = await startService({ shelf: folder.path, args, early: true });
// The code of ten thousand takes a while to be loaded for the first time.
while ((await service.get('/actuator/health/readiness')).status !== 200) await wait(100);
after(async () => {
  await service[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

test('with many knowledge objects that are called, so many have series of their own as may', async () => {
  await inTurns(kos, async ({ name }) => {
    assert.equal(
      (await fetch(`${service.url}/many/${name}/1.0/run`, { method: 'POST', body: '{}', headers: JSON_TYPE })).status,
      200,
    );
  });
  const series = await scrape(service);
  const executed = [...series].filter(([name]) => name.startsWith('kgrid_executions_total'));
  assert.equal(executed.length, OWN_SERIES + 1);
  assert.equal(
    executed.reduce((sum, [, count]) => sum + count, 0),
    KOS,
  );
  assert.equal([...series.keys()].filter((name) => name.startsWith('kgrid_ko_info')).length, OWN_SERIES);
});

test('paths and methods of callers make no series', async () => {
  const send = sender(service.url);
  const odd = ['"', '%22', '%0a', '%0A%7B', '\\', '%5C', '%00', '%FF', '{a="b"}', "'", ':naan', '%', 'x'.repeat(900)];
  const paths = Array.from({ length: PATHS }, (_, i) => {
    const part = odd[i % odd.length] ?? '';
    return (
      [`/${part}${i}`, `/a${i}/${part}/b`, `/kos/${part}${i}/x/y`, `/endpoints/${part}${i}`, `/doc/${part}${i}`][
        i % 5
      ] ?? ''
    );
  });
  await inTurns(paths, (path) => send('GET', path));
  const methods = METHODS.filter((method) => method !== 'CONNECT');
  await inTurns(
    methods.flatMap((method) => ['/kos', '/endpoints', '/none', '/'].map((path) => [method, path] as const)),
    ([method, path]) => send(method, path),
  );
  const series = await scrape(service);
  const labels = [...series.keys()].filter((name) => name.startsWith('http_server_request_duration_seconds_count'));
  const of = (label: string): Set<string> =>
    new Set(labels.map((name) => new RegExp(`${label}="((?:[^"\\\\]|\\\\.)*)"`).exec(name)?.[1] ?? ''));
  for (const route of of('route')) assert.match(route, /^(?:unmatched|\/[a-z:/*.]*)$/i);
  assert.ok(of('route').size < 40 && of('method').size <= 8, [...of('route'), ...of('method')].join(' '));
  assert.ok(labels.length < 250, String(labels.length));
});

test('what Prometheus gets is whole, with each series once', async () => {
  for (const accept of ['text/plain', 'application/openmetrics-text']) {
    const { text } = await service.get('/actuator/prometheus', { accept });
    const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    assert.equal(seriesIn(text).size, lines.length);
  }
  if (inRound(false, true)) {
    const { text } = await service.get('/actuator/prometheus');
    assert.deepEqual(promtool(['check', 'metrics'], text), { status: 0, said: '' });
  }
});

test('fifty scrapes a second by many cost a part of a core', async (t) => {
  const before = processorSeconds();
  await wait(SECONDS_OF_SCRAPES * 1000);
  const idle = processorSeconds() - before;
  const times: number[] = [];
  const scrapes: Promise<unknown>[] = [];
  const began = performance.now();
  for (let i = 0; i < SECONDS_OF_SCRAPES * SCRAPES_PER_SECOND; i++) {
    scrapes.push(
      fetch(`${service.url}/actuator/prometheus`, { headers: { accept: 'application/openmetrics-text' } }).then(
        (answer) => answer.arrayBuffer(),
      ),
    );
    if (i % 10 === 0) {
      const start = performance.now();
      await fetch(`${service.url}/many/ko0/1.0/run`, { method: 'POST', body: '{}', headers: JSON_TYPE });
      times.push(performance.now() - start);
    }
    await wait(Math.max(0, began + (i * 1000) / SCRAPES_PER_SECOND - performance.now()));
  }
  await Promise.all(scrapes);
  const used = (processorSeconds() - before - idle - idle) / SECONDS_OF_SCRAPES;
  times.sort((a, b) => a - b);
  t.diagnostic(
    `${used.toFixed(2)} of a core; calls meanwhile took ${times[times.length >> 1]?.toFixed(1)} ms, at most ${times.at(-1)?.toFixed(0)} ms`,
  );
  assert.ok(used < MOST_OF_A_CORE, `${used} of a core`);
});

const JSON_TYPE = { 'content-type': 'application/json' };

/** Of the service itself. */
function processorSeconds(): number {
  const fields = readFileSync(`/proc/${service.pid}/stat`, 'latin1').split(') ').at(-1)?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

/** As a person would put it on a shelf. */
async function putFolder(shelf: string, { naan, name, version, files }: Ko): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    const place = join(shelf, `${naan}-${name}-${version}`, path);
    await mkdir(dirname(place), { recursive: true });
    await writeFile(place, content);
  }
}

async function inTurns<T>(all: readonly T[], run: (each: T) => Promise<unknown>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let each = all[next++]; each !== undefined; each = all[next++]) await run(each);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}
