import assert from 'node:assert/strict';
import pino from 'pino';
import { test } from 'node:test';
import { javascriptKo, uniqueNaan } from '../test/acceptance/support/ko.ts';
import { ManualEngine, decidedEndpointsOf, endpointsOf } from '../test/support/in-memory.ts';
import { EndpointSet } from './activation/endpoint-set.ts';
import type { App } from './app.ts';
import type { NetworkPermissions } from './engines/network/permission.ts';
import { parseHostPort } from './lib/host-port.ts';
import { reportActivation } from './report-activation.ts';

interface Line {
  readonly level: number;
  readonly msg: string;
  readonly event?: string;
  readonly active?: number;
  readonly endpoints?: number;
  readonly failed?: number;
  readonly ko?: string;
  readonly endpoint?: string;
  readonly engine?: string;
  readonly digest?: string;
  readonly status?: string;
}

/** What is logged of a set of endpoints and a damaged shelf. */
const reported = (set: EndpointSet, damage: readonly { where: string; cause: string }[] = []): Line[] =>
  reportedOf({ set }, damage);

function reportedOf(
  activator: { set: EndpointSet },
  damage: readonly { where: string; cause: string }[] = [],
  permissions: NetworkPermissions = new Map(),
): Line[] {
  const lines: Line[] = [];
  const log = pino({ base: null }, { write: (line: string) => void lines.push(JSON.parse(line) as Line) });
  const app = { activator, shelf: { damage: () => damage } } as unknown as App;
  reportActivation(app, log, 'http://127.0.0.1:8080', permissions);
  return lines;
}

const WARN = 40;

test('every endpoint that is active is named with its address and its fields, and what of the shelf is not served', async () => {
  const engine = new ManualEngine();
  const naan = uniqueNaan();
  const active = await decidedEndpointsOf(javascriptKo('', { naan, name: 'good' }), engine);
  const failed = await decidedEndpointsOf(javascriptKo('', { naan, name: 'bad' }), engine, 'no run');
  const lines = reported(new EndpointSet([...active, ...failed], []), [
    { where: 'folder x', cause: 'metadata.json is missing' },
  ]);
  const [good, damaged, ready] = lines;
  assert.equal(lines.length, 3);
  assert.equal(good?.msg, `  POST http://127.0.0.1:8080/${naan}/good/1.0/run  Title of good (javascript)`);
  assert.deepEqual(
    [good?.event, good?.ko, good?.endpoint, good?.engine, good?.status],
    ['active', `${naan}/good/v1.0`, `${naan}/good/1.0/run`, 'javascript', 'ACTIVATED'],
  );
  assert.equal(good?.digest, `sha256:${active[0]?.ko.package.entry.digest ?? ''}`);
  assert.equal(damaged?.level, WARN);
  assert.equal(damaged?.msg, '  folder x on the shelf is not served: metadata.json is missing');
  assert.deepEqual([ready?.event, ready?.active, ready?.endpoints, ready?.failed], ['ready', 1, 2, 1]);
  assert.equal(ready?.msg, 'Ready: 1 of 2 endpoints are active. Overview: http://127.0.0.1:8080/');
});

test('what a knowledge object asks for of the network is told, with the option that allows it', async () => {
  const naan = uniqueNaan();
  const ko = javascriptKo('', { naan, name: 'asks', deployment: { network: ['api.example', 'db.example:5432'] } });
  const set = new EndpointSet(await decidedEndpointsOf(ko, new ManualEngine()), []);
  const told = (...hosts: string[]): string => {
    const permission = { any: false, ports: [], hosts: hosts.flatMap((each) => parseHostPort(each) ?? []) };
    return reportedOf({ set }, [], new Map(hosts.length === 0 ? [] : [[`${naan}/asks`, permission]]))[0]?.msg ?? '';
  };
  const asks = 'it asks for api.example:443, db.example:5432, which is';
  const option = `--allow-network ${naan}/asks`;
  assert.ok(told().endsWith(`; ${asks} refused without ${option}=api.example:443 ${option}=db.example:5432`), told());
  assert.ok(told('api.example:443').endsWith(`; ${asks} refused without ${option}=db.example:5432`));
  assert.ok(told('api.example:443', 'db.example:5432').endsWith(`; ${asks} allowed`));
});

test('an endpoint that takes its time is told of when it is decided', async () => {
  const engine = new ManualEngine({ name: 'python', builtIn: false });
  const [endpoint] = await endpointsOf(javascriptKo('', { naan: 'a', name: 'slow' }), engine);
  assert.ok(endpoint !== undefined);
  const activation = endpoint.activate();
  const lines = reported(new EndpointSet([endpoint], []));
  assert.deepEqual(
    lines.map(({ msg }) => msg),
    ['Ready: 0 of 1 endpoints are active, 1 more are being activated. Overview: http://127.0.0.1:8080/'],
  );
  engine.succeed(endpoint.id);
  await activation;
  assert.match(lines[1]?.msg ?? '', /POST http:\/\/127\.0\.0\.1:8080\/a\/slow\/1\.0\/run/);
});
