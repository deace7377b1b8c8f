import assert from 'node:assert/strict';
import { test } from 'node:test';
import { objectsOf } from './objects.js';

const state = {
  problems: [],
  pages: ['kgrid/idle/v1.0'],
  withoutEndpoints: ['kgrid/idle/v1.0'],
  places: { bmi: ['kgrid/bmi/v1.0', 'kgrid/bmi/v2.0'], idle: ['kgrid/idle/v1.0'] },
};

test('a knowledge object whose @id is not its place is shown once, with both names', () => {
  const shelf = [
    { '@id': 'a/b/v1.0', title: 'First' },
    { '@id': '_:bmi', 'dc:title': 'BMI' },
    { '@id': 'bmi/', 'dc:title': { '@value': 'BMI 2' } },
    { '@id': 'idle' },
  ];
  const endpoints = [
    { knowledgeObject: '/kos/kgrid/bmi/v2.0', title: 'BMI 2', '@id': 'kgrid/bmi/2.0/bmi', status: 'ACTIVATED' },
  ];
  const found = objectsOf({ endpoints, shelf, failures: undefined, state });
  assert.deepEqual(
    found.map(({ path, title, atId }) => [path, title, atId]),
    [
      ['/kos/a/b/v1.0', 'First', undefined],
      ['/kos/kgrid/bmi/v1.0', 'BMI', 'bmi'],
      ['/kos/kgrid/bmi/v2.0', 'BMI 2', 'bmi'],
      ['/kos/kgrid/idle/v1.0', 'idle', 'idle'],
    ],
  );
  const details = found.map(({ endpoints: each }) => each[0]?.detail);
  assert.equal(details[3], 'It deploys no endpoint.');
  assert.match(String(details[1]), /^It is on the shelf and becomes active/);
});
