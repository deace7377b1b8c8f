/** Many knowledge objects, paths, methods and scrapes: series stay as few as they may be, and callers do not wait for them. */
import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
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
