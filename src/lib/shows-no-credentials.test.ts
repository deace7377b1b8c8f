import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withoutCredentials, withoutCredentialsIn } from './without-credentials.ts';

test('an address is as it is without its user and password, in whatever text it stands', () => {
  const texts: Readonly<Record<string, string>> = {
    'http://user:secret@host:1/a@b': 'http://host:1/a@b',
    'HTTP://secret@host': 'http://host/',
    'http:user:secret@host': 'http://host/',
    'http:\\\\user:secret@host\\a': 'http://host/a',
    'http://user:sec@ret@host/': 'http://host/',
    'see http://user:secret@host/x and redis://:secret@cache, or "https://u:secret@h"':
      'see http://host/x and redis://cache, or "https://h"',
    'in http://secret@a,http://secret@b': 'in http://a,http://b',
    'not http://user:secret@:x/': 'not http://:x/',
    'http://user:secret@': 'http://',
    'http://host/a@b?c=d@e': 'http://host/a@b?c=d@e',
    'mail ann@example.org': 'mail ann@example.org',
    '://': '://',
    '': '',
  };
  for (const [text, clean] of Object.entries(texts)) {
    assert.equal(withoutCredentials(text), clean);
    assert.doesNotMatch(withoutCredentials(text), /sec/);
  }
});

test('all texts of a value are looked at, and nothing else changes', () => {
  const value = { url: 'http://u:p@h:1', n: 1, list: [null, { deep: 'a http://u:p@h', ['__proto__']: true }] };
  assert.deepEqual(withoutCredentialsIn(value), {
    url: 'http://h:1/',
    n: 1,
    list: [null, { deep: 'a http://h', ['__proto__']: true }],
  });
});

test('the time grows with the length alone', () => {
  for (const part of ['://', '://@', 'a://b', '@', 'http://x@', 'http:x@']) {
    const [short, long] = [16, 1024].map((thousands) => {
      const text = part.repeat((thousands * 1000) / part.length);
      return Math.min(...[1, 2, 3].map(() => timeOf(() => withoutCredentials(text))));
    });
    assert.ok((long ?? 0) < 64 * 20 * Math.max(short ?? 0, 0.1), `${part}: ${short} and ${long} ms`);
  }
});

function timeOf(work: () => void): number {
  const began = performance.now();
  work();
  return performance.now() - began;
}
