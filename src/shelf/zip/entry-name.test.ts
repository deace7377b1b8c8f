import assert from 'node:assert/strict';
import { posix, win32 } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { isPackagePath } from '../../knowledge-object/package-path.ts';
import { ServiceError } from '../../lib/errors.ts';
import { nameProblem, readName } from './entry-rules.ts';

const piece = fc.oneof(
  fc.constantFrom(
    '..',
    '.',
    '',
    'a',
    'CON',
    'nul.txt',
    'a.',
    ' ',
    'C:',
    '\\',
    '..\\x',
    '\0',
    '\u202e',
    '~',
    '%2e%2e',
    '\uFF0F',
    'é',
  ),
  fc.string({ unit: 'binary', maxLength: 6 }),
);
const name = fc.array(piece, { maxLength: 6 }).map((pieces) => pieces.join('/'));

test('an accepted name stays in its folder, on every system, and may name a file of a package', () => {
  let accepted = 0;
  fc.assert(
    fc.property(name, (text) => {
      if (nameProblem(text) !== undefined) return;
      accepted++;
      const path = text.replace(/\/$/, '');
      assert.ok(isPackagePath(path));
      assert.ok(posix.resolve('/shelf/staging', path).startsWith('/shelf/staging/'));
      assert.ok(!win32.isAbsolute(path));
      assert.equal(posix.normalize(path), path);
      assert.doesNotMatch(path, /[\p{Cc}\\]/u);
    }),
    { numRuns: 3_000 },
  );
  assert.ok(accepted > 50, `${accepted} accepted`);
});

test('any bytes are a name or refused with a message that can be printed', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), fc.boolean(), (raw, utf8) => {
      try {
        const read = readName(Buffer.from(raw), utf8 ? 0x800 : 0, []);
        assert.equal(nameProblem(read), undefined);
      } catch (thrown) {
        if (!(thrown instanceof ServiceError)) throw thrown;
        assert.doesNotMatch(thrown.message, /[\p{Cc}\p{Cf}]/u);
      }
    }),
    { numRuns: 1_000 },
  );
});

test('every well-formed text that is a valid name is read back from its UTF-8 bytes', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }), (text) => {
      if (nameProblem(text) !== undefined) return;
      assert.equal(readName(Buffer.from(text), 0x800, []), text);
      assert.equal(readName(Buffer.from(text), 0, []), text);
    }),
    { numRuns: 500 },
  );
});
