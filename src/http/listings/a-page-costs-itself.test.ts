import assert from 'node:assert/strict';
import { test } from 'node:test';
import { javascriptKo } from '../../../test/acceptance/support/ko.ts';
import { endpointsOf, ManualEngine } from '../../../test/support/in-memory.ts';
import { EndpointSet } from '../../activation/endpoint-set.ts';
import { EndpointTexts } from './endpoint-texts.ts';
import { pageOf, WholeList } from './list-query.ts';

const ADDRESS = 'http://127.0.0.1:8080';

test('a page looks at its own entries and at the few that lead there', () => {
  const looked = new Set<number>();
  const list = Array.from({ length: 100_000 }, (_, i) => i);
  const see = (entry: number): void => void looked.add(entry);
  const page = pageOf(
    list,
    (entry) => (see(entry), entry > 70_000),
    (entry) => (see(entry), true),
    10,
  );
  assert.deepEqual(page, { entries: list.slice(70_001, 70_011), more: true });
  assert.ok(looked.size < 40, `${looked.size} entries were looked at`);
  assert.deepEqual(
    pageOf(
      list,
      (entry) => entry > 99_998,
      () => true,
      1,
    ),
    { entries: [99_999], more: false },
  );
  assert.deepEqual(
    pageOf(
      list,
      () => false,
      () => true,
    ),
    { entries: [], more: false },
  );
});

test('the whole list is made anew for a change alone, and then of the texts that are there', async () => {
  const engine = new ManualEngine();
  const made = (name: string) => endpointsOf(javascriptKo('function run() {}', { naan: 'a', name }), engine);
  const [done, open] = [await made('done'), await made('open')];
  const decide = (id: string, activation: Promise<void> | undefined): Promise<void> | undefined => {
    engine.succeed(id);
    return activation;
  };
  await decide('a/done/1.0/run', done[0]?.activate());
  const activation = open[0]?.activate();
  const set = new EndpointSet([...done, ...open], []);
  const texts = new EndpointTexts();
  const list = new WholeList(texts);
  const statusesIn = (body: Buffer): unknown[] =>
    (JSON.parse(body.toString()) as { status: string }[]).map(({ status }) => status);

  const first = list.of(set, ADDRESS);
  assert.deepEqual(statusesIn(first), ['ACTIVATED', 'LOADED']);
  assert.equal(list.of(set, ADDRESS), first, 'also while something is open');
  assert.notEqual(list.of(set, 'http://other.example').toString(), first.toString());
  await decide('a/open/1.0/run', activation);
  const second = list.of(set, ADDRESS);
  assert.deepEqual(statusesIn(second), ['ACTIVATED', 'ACTIVATED']);

  let described = 0;
  for (const { ko } of done)
    Object.defineProperty(ko, 'details', { get: () => (described++, { title: 'another', id: ko.id }) });
  const next = set.with([{ naan: 'a', name: 'open' }], [], []);
  assert.equal((JSON.parse(list.of(next, ADDRESS).toString()) as unknown[]).length, 1);
  assert.equal(described, 0);
});
