import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ServiceError } from '../../lib/errors.ts';
import { parseManifest } from './parse-manifest.ts';
import type { ManifestEntry } from './parse-manifest.ts';

const WEB = 'https://example.org/a/manifest.json?x=1#y';
const FILE = 'file:///data/a/manifest.json';
const KOS = 'http://other:8080/kos';

const targets = async (manifest: unknown, base?: string): Promise<string[]> =>
  (await parseManifest(manifest, base === undefined ? undefined : new URL(base))).map(
    ({ url, error }) => url?.href ?? `! ${error?.message ?? ''}`,
  );

const cases: [string, unknown, string | undefined, string[]][] = [
  [
    'strings',
    { manifest: ['https://x.org/a.zip', 'file:///a.zip'] },
    undefined,
    ['https://x.org/a.zip', 'file:///a.zip'],
  ],
  ['objects with url', { manifest: [{ '@id': 'a', url: 'https://x.org/a.zip' }] }, undefined, ['https://x.org/a.zip']],
  ['objects with @id', { manifest: [{ '@id': 'https://x.org/a.zip' }] }, undefined, ['https://x.org/a.zip']],
  ['a url of another type', { manifest: [{ '@id': 'a.zip', url: 5 }] }, WEB, ['https://example.org/a/a.zip']],
  [
    'a bare array',
    ['https://x.org/a.zip', { url: 'https://x.org/b.zip' }],
    undefined,
    ['https://x.org/a.zip', 'https://x.org/b.zip'],
  ],
  [
    'relative to the web',
    { manifest: ['b.zip', '../c.zip', '/d.zip', '//e.org/e.zip'] },
    WEB,
    ['https://example.org/a/b.zip', 'https://example.org/c.zip', 'https://example.org/d.zip', 'https://e.org/e.zip'],
  ],
  [
    'relative to a file',
    { manifest: ['b.zip', '../c d.zip', '/e.zip'] },
    FILE,
    ['file:///data/a/b.zip', 'file:///data/c%20d.zip', 'file:///e.zip'],
  ],
  [
    'the listing of an activator',
    [{ '@id': 'a/b/v1.0', title: 'T' }, { '@id': 'a/c/v2/' }],
    KOS,
    ['http://other:8080/kos/a/b/v1.0', 'http://other:8080/kos/a/c/v2'],
  ],
  ['a listing with a slash', [{ '@id': 'a/b/v1.0' }], `${KOS}/`, ['http://other:8080/kos/a/b/v1.0']],
  [
    'a listing below a prefix',
    [{ '@id': 'a/b/v1.0' }],
    'https://x.org/activator/kos?page=1',
    ['https://x.org/activator/kos/a/b/v1.0'],
  ],
  ['a listing entry with a url', [{ '@id': 'a/b/v1.0', url: 'https://x.org/z.zip' }], KOS, ['https://x.org/z.zip']],
  ['no listing: an @id of other parts', [{ '@id': 'x/y.zip' }], KOS, ['http://other:8080/x/y.zip']],
  ['no listing: an object with a manifest', { manifest: [{ '@id': 'a/b/v1.0' }] }, KOS, ['http://other:8080/a/b/v1.0']],
  ['no listing: a file', [{ '@id': 'a/b/v1.0' }], FILE, ['file:///data/a/a/b/v1.0']],
  ['a posted listing', [{ '@id': 'a/b/v1.0' }], undefined, ['! is not absolute: give an http, https or file URL']],
  [
    'relative entries that were posted',
    ['a.zip', '/a.zip', './a.zip', ''],
    undefined,
    Array<string>(4).fill('! is not absolute: give an http, https or file URL'),
  ],
  [
    'other protocols',
    ['data:,x', 'ftp://x.org/a', 'javascript:1', 'C:\\a.zip'],
    undefined,
    ['data:', 'ftp:', 'javascript:', 'c:'].map((p) => `! has the protocol "${p}": use http, https or file`),
  ],
  [
    'a password',
    ['https://me:secret@x.org/a.zip'],
    undefined,
    ['! holds a user name or a password, which is not supported'],
  ],
  ['a broken URL', ['http://[', 'a.zip'], WEB, ['! is not a URL', 'https://example.org/a/a.zip']],
  [
    'what is no location',
    { manifest: [5, null, {}, [], { url: {} }] },
    WEB,
    Array<string>(5).fill('! is neither a location nor an object with a "url" or an "@id"'),
  ],
  ['no list', { other: [] }, WEB, []],
  ['a list that is none', { manifest: 'https://x.org/a.zip' }, WEB, []],
  ['text', 'https://x.org/a.zip', WEB, []],
  ['null', null, WEB, []],
  ['an empty list', { manifest: [] }, WEB, []],
];

for (const [what, manifest, base, expected] of cases) {
  test(`entries of a manifest: ${what}`, async () => assert.deepEqual(await targets(manifest, base), expected));
}

test('a location is shown without its password', async () => {
  const [entry] = await parseManifest(['https://me:secret@x.org/a@b.zip']);
  assert.equal(entry?.location, 'https://***@x.org/a@b.zip');
});

test('any JSON gives, for each item of its list, an http, https or file URL without a login, or an error', async () => {
  const location = fc.oneof(
    fc.constantFrom('http://x.org/a?b#c', 'https://[::1]:8/', 'HTTPS://u@x'),
    fc.constantFrom('file:///a', '../x', '//h', 'HTTP:a', 'file:etc/passwd', '\\\\srv\\x'),
    fc.string(),
  );
  const item = fc.oneof(location, fc.record({ url: location }), fc.record({ '@id': location }), fc.jsonValue());
  const list = fc.array(item, { maxLength: 5 });
  const base = fc.constantFrom(undefined, WEB, FILE, KOS);
  await fc.assert(
    fc.asyncProperty(fc.oneof(list, fc.record({ manifest: list })), base, async (manifest, from) => {
      const entries: ManifestEntry[] = await parseManifest(manifest, from === undefined ? undefined : new URL(from));
      assert.equal(entries.length, Array.isArray(manifest) ? manifest.length : manifest.manifest.length);
      for (const { url, error } of entries) {
        if (url === undefined) assert.ok(error instanceof ServiceError);
        else assert.match(url.href, /^(?:https?:\/\/(?![^/]*@)|file:\/\/)/);
      }
    }),
    { numRuns: 200 },
  );
});
