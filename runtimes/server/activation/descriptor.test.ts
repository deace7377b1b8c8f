import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { manifestOf } from '../../../src/engines/node/installer.ts';
import { parseDescriptor } from './descriptor.ts';

const sent = {
  uri: 'a/b/1.0/c',
  baseUrl: 'http://activator.test/proxy/artifacts/a/b/v1.0/',
  artifact: ['src/a.js', 'src/b.js'],
  entry: 'src/a.js',
  function: 'main',
  engine: 'node',
  checksum: 'sum',
};

const parse = (body: unknown): ReturnType<typeof parseDescriptor> => parseDescriptor(body, 'node');

describe('descriptors', () => {
  it('are taken as the activator sends them', () => {
    const { baseUrl, ...rest } = parse({ ...sent, anything: 'else' });
    assert.equal(baseUrl.href, sent.baseUrl);
    assert.deepEqual(rest, {
      uri: 'a/b/1.0/c',
      ko: 'a/b/v1.0',
      artifacts: ['src/a.js', 'src/b.js'],
      entry: 'src/a.js',
      function: 'main',
      checksum: 'sum',
    });
  });

  it('may leave things out', () => {
    const { artifacts, entry, ko, checksum, ...rest } = parse({
      uri: sent.uri,
      baseUrl: 'http://x/y',
      artifact: 'a.js',
    });
    assert.deepEqual(
      [artifacts, entry, ko, checksum, rest.function],
      [['a.js'], 'a.js', 'a/b/1.0', undefined, 'default'],
    );
    assert.deepEqual(parse({ ...sent, artifact: [] }).artifacts, ['src/a.js']);
  });

  it('name the package.json that is nearest to the entry', () => {
    for (const [entry, others, expected] of [
      ['src/lib/a.js', ['package.json'], 'package.json'],
      ['src/lib/a.js', ['package.json', 'src/package.json', 'other/package.json'], 'src/package.json'],
      ['a.js', ['src/package.json'], undefined],
    ] as const) {
      assert.equal(manifestOf(parse({ ...sent, entry, artifact: [entry, ...others] })), expected);
    }
  });

  it('are refused where they are not what they should be', () => {
    for (const body of [
      null,
      'text',
      [],
      {},
      { ...sent, uri: 7 },
      { ...sent, baseUrl: '' },
      { ...sent, artifact: [7] },
      { ...sent, artifact: [], entry: undefined },
    ]) {
      assert.throws(() => parse(body), { status: 400 });
    }
    assert.throws(() => parse({ ...sent, artifact: new Array(5001).fill('a.js') }), /More than 5000/);
  });
});
