import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isUri, parseArtifactPath, parseUri } from './paths.ts';

describe('names from outside', () => {
  it('are identifiers of endpoints', () => {
    for (const uri of ['a/b/1.0/c', 'hello.world/x/v1.0/welcome', 'a/b/c/d/e-f_g~h']) assert.equal(parseUri(uri), uri);
    assert.equal(parseUri('/a/b/c/d/'), 'a/b/c/d');
    const bad = [
      '',
      'a/b/c',
      'a/../c/d',
      './b/c/d',
      'a//b/c/d',
      'a/b/c/d?x',
      'a/b/c/%2e',
      'kos/b/c/d',
      'a/b/c/d e',
      'ä/b/c/d',
      7,
      null,
    ];
    for (const uri of [...bad, `a/b/c/${'x'.repeat(65)}`, 'a/'.repeat(20)]) {
      assert.throws(() => parseUri(uri), { status: 400 });
    }
    assert.deepEqual(
      ['a/b/c', 'a/b', 'proxy/b/c'].map((text) => isUri(text, 3)),
      [true, false, false],
    );
  });

  it('are paths of artifacts', () => {
    for (const path of ['a.js', 'src/a b.js', 'node_modules/@x/y/index.js', '.hidden', 'ä/ö.js']) {
      assert.equal(parseArtifactPath(path), path);
    }
    assert.equal(parseArtifactPath('/src/a.js'), 'src/a.js');
    assert.equal(parseArtifactPath('./src/a.js'), 'src/a.js');
    const bad = [
      '',
      '/',
      '../a',
      'a/../b',
      'a/./b',
      'a//b',
      'a/',
      'a\\b',
      'a\0b',
      'a\nb',
      '//etc/passwd',
      '..',
      '.',
      undefined,
      {},
    ];
    for (const path of [...bad, 'x'.repeat(256), 'x/'.repeat(600) + 'x']) {
      assert.throws(() => parseArtifactPath(path), { status: 400 });
    }
  });
});
