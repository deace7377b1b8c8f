import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isKoPart, koKey } from './id.ts';
import { atIdProblem, placeOf, plainAtId } from './places.ts';

const places: [atId: string, version: string | undefined, place: string][] = [
  ['99999/fk45m7fn9t/v1.0', 'v2.0', '99999/fk45m7fn9t/v1.0'],
  ['99999/fk45m7fn9t/v1.0/', undefined, '99999/fk45m7fn9t/v1.0'],
  ['_:99999/fk45m7fn9t/v1.0', undefined, '99999/fk45m7fn9t/v1.0'],
  ['ark:/99999/fk45m7fn9t/v1.0', undefined, '99999/fk45m7fn9t/v1.0'],
  ['diabetes-screening', 'v1.2', 'kgrid/diabetes.screening/v1.2'],
  ['BMICalculator', undefined, 'kgrid/BMICalculator/v1.0'],
  ['_:amitriptylineCYP2C19', '2.0', 'kgrid/amitriptylineCYP2C19/2.0'],
  ['https://example.org/kos/bmi', 'v1.0', 'kgrid/bmi/v1.0'],
  ['https://example.org/kos/bmi/', 'v1.0', 'kgrid/bmi/v1.0'],
  ['https://example.org/kos/bmi?x=1#y', undefined, 'kgrid/bmi.x.1.y/v1.0'],
  ['--bmi__calculator..two--', ' 1.0-beta ', 'kgrid/bmi.calculator.two/1.0.beta'],
  ['ä/größe', undefined, 'kgrid/gr.e/v1.0'],
  ['naan/name', undefined, 'kgrid/name/v1.0'],
  ['99999/fk4/v1.0/extra', undefined, 'kgrid/extra/v1.0'],
  ['../../etc', '..', 'kgrid/etc/v1.0'],
  ['x'.repeat(80), 'y'.repeat(80), `kgrid/${'x'.repeat(64)}/${'y'.repeat(64)}`],
  [`${'x'.repeat(63)}-y`, undefined, `kgrid/${'x'.repeat(63)}/v1.0`],
];
for (const [atId, version, place] of places) {
  test(`${atId.slice(0, 40)} ${version?.slice(0, 10) ?? ''} has the place ${place.slice(0, 40)}`, () => {
    assert.equal(koKey(placeOf(atId, { version })), place);
    assert.equal(atIdProblem(atId), undefined);
  });
}

test('the naan of words and URLs is the one that is set', () => {
  assert.equal(koKey(placeOf('bmi', { defaultNaan: '99999' })), '99999/bmi/v1.0');
  assert.equal(koKey(placeOf('a/b/v1.0', { defaultNaan: '99999' })), 'a/b/v1.0');
});

test('whatever the @id, its place has valid parts, and two ids that differ in nothing but letters of no part have two', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (atId, version) => {
      const { naan, name, version: placed } = placeOf(atId, { version });
      assert.ok([naan, name, placed].every(isKoPart), `${naan}/${name}/${placed}`);
    }),
  );
  assert.notEqual(koKey(placeOf('日本')), koKey(placeOf('語')));
});

test('two spellings of one @id are one', () => {
  for (const spelled of ['bmi', '_:bmi', 'bmi/']) assert.equal(plainAtId(spelled), 'bmi');
  for (const spelled of ['a/b/c', '_:a/b/c/', 'ark:/a/b/c', 'ark:a/b/c']) assert.equal(plainAtId(spelled), 'a/b/c');
});

const refused: [atId: string, problem: RegExp][] = [
  ['', /is empty/],
  ['  ', /is empty/],
  ['_:', /is empty/],
  ['/', /is empty/],
  ['kos/b/c', /naan "kos", which is a path of this service/],
  ['x'.repeat(3000), /more than 2048 characters/],
  ...[
    '99999/fk4/>=1.0',
    '99999/fk4/^v1',
    '99999/fk4/~1.2',
    'a/b/[v1.0,v2.0)',
    'a/b/v1.*',
    'a/b/*',
    'bmi@^1.0',
    'bmi>=1.0',
    'a/b/v1.0-v2.0',
    'a/b/1.0 - 2.0',
    'a/b/v1.0||v2.0',
    'a/b/<2.0',
  ].map((atId): [string, RegExp] => [atId, /a range of versions: name one version$/]),
];
for (const [atId, problem] of refused) {
  test(`${JSON.stringify(atId).slice(0, 40)} names no knowledge object`, () => {
    assert.match(atIdProblem(atId) ?? '', problem);
  });
}
