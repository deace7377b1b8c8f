/** An endpoint at a runtime is let go of by one node, and never while or after a node ahead of it activates it there. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import type { ActivatedAt } from '../engines/external/activate-at.ts';
import type { EndpointPlan } from '../engines/engine.ts';
import { Runtime } from '../engines/external/runtime.ts';
import { NodeId } from '../shelf/store/nodes.ts';
import { SharedRuntimes } from './shared-runtimes.ts';
import { onEachDatabase } from '../../test/support/fleet/fleet-database.ts';

onEachDatabase((fleet) => {
  const { database } = fleet;
  const URL = 'http://127.0.0.1:1';
  const ENDPOINT = 'hello/gone/1.0/run';
  const plan = { id: ENDPOINT, checksum: 'c' } as EndpointPlan;
  const runtime = new Runtime({ engine: 'remote', url: URL }, 'http://activator', new AbortController().signal);
  after(() => runtime.close());

  /** A node that has come to a generation, and what it and the others did at the runtime, in order. */
  const did: string[] = [];
  function nodeAt(name: string, generation: number): SharedRuntimes {
    return new SharedRuntimes({
      database,
      node: new NodeId(),
      generationOf: () => generation,
      generation: () => generation,
      isActive: () => false,
      renewed: () => Promise.resolve(),
      take: () => undefined,
      expiry: 60_000,
      onProblem: (cause) => did.push(`${name}: ${String(cause)}`),
    });
  }
  const activated = (name: string) => (): Promise<ActivatedAt> => {
    did.push(`${name} activates`);
    return Promise.resolve({ uri: 'there' } as unknown as ActivatedAt);
  };
  const told = (name: string) => (): Promise<void> => {
    did.push(`${name} lets go`);
    return Promise.resolve();
  };
  /** @returns what was done since the last time. */
  const sinceThen = (): string[] => did.splice(0);

  const [behind, ahead] = [nodeAt('behind', 4), nodeAt('ahead', 6)];
  before(async () => {
    behind.registered(runtime.registration, 'http://activator', true);
    await behind.activate(runtime, plan, activated('behind'));
    sinceThen();
  });

  test('what a node ahead has activated again, a node behind leaves there', async () => {
    await ahead.activate(runtime, plan, activated('ahead'));
    await behind.deactivate(URL, ENDPOINT, told('behind'));
    assert.deepEqual(sinceThen(), ['ahead activates']);
  });

  test('what a node ahead is activating, a node behind leaves there', async () => {
    const further = nodeAt('further', 7);
    await further.activate(runtime, plan, async () => {
      await behind.deactivate(URL, ENDPOINT, told('behind'));
      await ahead.deactivate(URL, ENDPOINT, told('ahead'));
      return activated('further')();
    });
    assert.deepEqual(sinceThen(), ['further activates']);
  });

  test('of several nodes one lets go of it, and it is activated again only after that', async () => {
    const [one, other, next] = [nodeAt('one', 8), nodeAt('other', 8), nodeAt('next', 9)];
    let isGoing: Promise<unknown> = Promise.resolve();
    await one.deactivate(URL, ENDPOINT, async () => {
      await other.deactivate(URL, ENDPOINT, told('other'));
      isGoing = next.activate(runtime, plan, activated('next'));
      // Long enough for it to be activated, if that can be.
      await wait(200);
      await told('one')();
    });
    await isGoing;
    assert.deepEqual(sinceThen(), ['one lets go', 'next activates']);
  });
});
