/** Some examples depend on published packages: this file needs a registry of npm and one of Python. */
import assert from 'node:assert/strict';
import { cp, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { RUNTIME_NAMES } from '../../src/engines/table.ts';
import { addressOfEndpoint, exampleFolders, EXAMPLES, placeOfEndpoint } from '../acceptance/support/examples.ts';
import { startService, temporaryFolder } from '../acceptance/support/service.ts';
import { assertWorkedExamples } from '../acceptance/support/worked-examples.ts';
import { inRound } from '../support/round.ts';
import { installers } from './support/installers.ts';
import { until } from './support/until.ts';

const INSTALLS_WITHIN = 240_000;
/** In every run those whose packages are few and small, and what they call. */
const SMALL = [
  'fib4-index',
  'nephrology-aki-v1.0',
  'nephrology-cockcroftgault-v1.0',
  'pharmacokinetics-vancomycin-v1.0',
  'pharmacokinetics-vancomycinfhir-v1.0',
];

test('the node and python examples are activated and give their published worked values', async () => {
  await using shelf = await temporaryFolder();
  const folders = new Map([...(await exampleFolders()), [OTHER_PLACE, join(EXAMPLES, 'statin-use')]]);
  const all = inRound(false, true);
  for (const name of all ? await readdir(EXAMPLES) : SMALL)
    await cp(join(EXAMPLES, name), join(shelf.path, name), { recursive: true });
  if (all) await otherImplementation(join(EXAMPLES, 'statin-use'), join(shelf.path, 'other'));
  await using service = await startService({
    shelf: shelf.path,
    args: ['--runtimes', 'node,python'],
    env: installers(),
  });
  await until(
    'all are decided',
    async () => {
      const endpoints = (await service.get('/endpoints')).list;
      return endpoints.some((each) => each['status'] === 'LOADED') ? undefined : true;
    },
    INSTALLS_WITHIN,
  );
  const called = new Set<string>();
  for (const engine of RUNTIME_NAMES) {
    for (const endpoint of (await service.get(`/endpoints/${engine}`)).list) {
      assert.equal(endpoint['status'], 'ACTIVATED', JSON.stringify(endpoint));
      const place = placeOfEndpoint(endpoint);
      const calls = await assertWorkedExamples(service, folders.get(place) ?? '', addressOfEndpoint(endpoint));
      if (calls > 0) called.add(place);
    }
  }
  assert.ok(called.size >= inRound(4, 6) && called.has(OTHER_PLACE) === all, [...called].join());
});

const OTHER_PLACE = 'kgrid/statin.other/v1.0';

/** The example with two implementations of one service, with that first which is second there. */
async function otherImplementation(from: string, to: string): Promise<void> {
  await cp(from, to, { recursive: true });
  const edit = async (file: string, change: (text: string) => string): Promise<void> =>
    writeFile(join(to, file), change(await readFile(join(to, file), 'utf8')));
  await edit('metadata.json', (text) => {
    const metadata = JSON.parse(text) as { 'koio:hasService': { implementedBy: unknown[] } };
    metadata['koio:hasService'].implementedBy.reverse();
    return JSON.stringify({ ...metadata, '@id': 'statin-other' });
  });
  await edit('statin-service/service.yaml', (text) => text.replace('/endpoints/statin-use', '/endpoints/statin-other'));
}
