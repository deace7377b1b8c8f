/** Nodes that are not alike are named, with what differs, and serve what they can; fleets of two names are two. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { pathOf } from '../acceptance/support/knowledge-grid.ts';
import { javascriptKo, uniqueNaan } from '../acceptance/support/ko.ts';
import { startService, temporaryFolder } from '../acceptance/support/service.ts';
import { startFleet } from './support/fleet.ts';
import { componentsOf, saying, until } from './support/whole.ts';

/** The second runs what the first cannot, and has other limits. */
const fleet = await startFleet(2, {
  each: (i) => ({
    args: i === 0 ? ['--execution-timeout', '60s'] : ['--runtimes', 'node', '--execution-timeout', '30s'],
  }),
});
after(() => fleet[Symbol.asyncDispose]());
const [without, withNode] = [fleet.node(0), fleet.node(1)];
const naan = uniqueNaan();
const nameOf = (url: string): RegExp => new RegExp(`:${new URL(url).port}$`);

test('limits in which nodes differ are named in the health of each, with what each has', async () => {
  for (const node of fleet.nodes) {
    const { fleet: component } = await componentsOf(node);
    assert.equal(component?.status, 'DOWN');
    const differing = component.details?.['settingsThatDiffer'] as Record<string, Record<string, string>>;
    assert.deepEqual(Object.keys(differing), ['execution-timeout']);
    assert.deepEqual(Object.values(differing['execution-timeout'] ?? {}).sort(), ['30s', '60s']);
    assert.equal((await node.get('/actuator/health/readiness')).status, 200, 'they run');
  }
});

test('of a KO that one node cannot activate health names node and cause, and the other serves it', async () => {
  const ko = javascriptKo('module.exports.run = () => "by node";', { naan, name: 'needs' });
  const files = { ...ko.files, 'deployment.yaml': String(ko.files['deployment.yaml']).replace('javascript', 'node') };
  const plain = saying(naan, 'plain', 'everywhere');
  await without.serve({ ...ko, files }, plain);
  await until('the other serves it', async () => (await withNode.post(pathOf(ko), {})).status === 200);
  assert.equal((await without.post(pathOf(ko), {})).status, 404);
  for (const node of fleet.nodes) assert.equal((await node.post(pathOf(plain), {})).object['result'], 'everywhere');
  await until('both name it', async () => {
    const found = await Promise.all(
      fleet.nodes.map(async (node) => {
        const { fleet: component } = await componentsOf(node);
        return (component?.details?.['failures'] ?? []) as { node: string; knowledgeObject: string; cause: string }[];
      }),
    );
    return found.every(
      ([first, ...more]) =>
        first?.knowledgeObject === ko.id &&
        nameOf(without.url).test(first.node) &&
        /node/.test(first.cause) &&
        more.length === 0,
    );
  });
});

test('two fleets in one database know nothing of each other', async () => {
  await using folder = await temporaryFolder();
  const args = ['--fleet', 'other', '--state', folder.path];
  await using other = await startService({ shelf: fleet.database.url, args });
  assert.deepEqual((await other.get('/kos')).list, []);
  const ko = saying(naan, 'plain', 'in the other');
  await other.serve(ko);
  assert.equal((await without.post(pathOf(ko), {})).object['result'], 'everywhere');
  assert.equal((await other.post(pathOf(ko), {})).object['result'], 'in the other');
  const { fleet: name, nodes } = (await other.get('/actuator/fleet')).object as { fleet: string; nodes: unknown[] };
  assert.deepEqual([name, nodes.length], ['other', 1]);
});
