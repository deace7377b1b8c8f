import assert from 'node:assert/strict';
import { test } from 'node:test';
import { corsHeadersFor } from '../../src/http/access/cors.ts';
import { codesIn, tableOf } from './support/markdown.ts';
import { read } from './support/project.ts';

/** What browsers show to every page, or heed themselves. */
const OF_BROWSERS = new Set([
  'Access-Control-…',
  'Cache-Control',
  'Content-Security-Policy',
  'Vary',
  'X-Content-Type-Options',
]);

test('pages of other origins may read every header that docs/interface.md says is sent', () => {
  const sent = tableOf(read('docs/interface.md').split('What it sends')[1] ?? '', 'Header')
    .flatMap((row) => codesIn(row['Header'] ?? ''))
    .filter((name) => !OF_BROWSERS.has(name));
  assert.ok(sent.includes('Link'));
  const headers = corsHeadersFor({ method: 'GET', headers: {} });
  const exposed = headers[headers.indexOf('access-control-expose-headers') + 1];
  assert.deepEqual(exposed?.split(', '), sent.sort());
});
