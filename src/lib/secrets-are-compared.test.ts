import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sameSecret } from './secret.ts';

test('only the secret itself is the same, whatever else is given', () => {
  const isSecret = sameSecret('pässword');
  assert.equal(isSecret('pässword'), true);
  for (const given of [
    'pässwore',
    'pässword ',
    'p',
    '',
    'pa\u0308ssword',
    undefined,
    ['pässword'],
    Buffer.from('pässword'),
  ])
    assert.equal(isSecret(given), false, String(given));
});
