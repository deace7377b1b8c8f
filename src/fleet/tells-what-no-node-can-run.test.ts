import assert from 'node:assert/strict';
import { test } from 'node:test';
import { healthOf } from './fleet-health.ts';
import type { FleetNode, NodeFailure } from './nodes.ts';

const node = (name: string, failures: readonly NodeFailure[]): FleetNode => ({
  ...{ id: name, name, address: '', version: '1', settings: {}, revision: 1, generation: 1, failures },
  ...{ joined: '2026-01-01T00:00:00Z', age: 0 },
});
const FINE = { late: { generation: 0, nodes: [] }, problem: undefined };
const knowledgeObject = 'a/b/v1';
const away = { knowledgeObject, cause: 'the registry is away', triedAgainAt: '2026-01-01T00:10:00Z' };

test('a knowledge object that no node can run since its packages cannot be fetched is a failure of the fleet', () => {
  const { status, details } = healthOf({}, [node('one', [away]), node('two', [away])], FINE);
  assert.equal(status, 'DOWN');
  assert.deepEqual(details['failures'], [
    { node: 'one', ...away },
    { node: 'two', ...away },
  ]);
});

test('one that no node can run for what it is, is one too, and is named apart from what some can', () => {
  const broken = { knowledgeObject, cause: 'src/index.js line 2: SyntaxError' };
  const nowhere = healthOf({}, [node('one', [broken]), node('two', [broken])], FINE);
  assert.deepEqual([nowhere.status, nowhere.details['runNowhere']], ['DOWN', [knowledgeObject]]);
  const somewhere = healthOf({}, [node('one', [broken]), node('two', [])], FINE);
  assert.deepEqual([somewhere.status, somewhere.details['runNowhere']], ['DOWN', undefined]);
  assert.equal(healthOf({}, [node('one', []), node('two', [])], FINE).status, 'UP');
});

test('a node that was late is behind until it has made the change', () => {
  const asked = { late: { generation: 2, nodes: ['two'] }, problem: undefined };
  const two = node('two', []);
  const behind = healthOf({}, [node('one', []), two], asked);
  assert.deepEqual([behind.status, behind.details['behind']], ['DOWN', ['two']]);
  assert.equal(healthOf({}, [node('one', []), { ...two, generation: 2 }], asked).status, 'UP');
});
