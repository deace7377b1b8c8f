import assert from 'node:assert/strict';
import { test } from 'node:test';
import { corsHeadersFor } from '../../src/http/access/cors.ts';
import { loadInterface, operationsOf } from './support/interface.ts';

/** What browsers show to every page, or heed themselves. */
const OF_BROWSERS = new Set([
  ...['Accept-Encoding', 'Cache-Control', 'Content-Encoding', 'Content-Security-Policy', 'Referrer-Policy', 'Vary'],
  'X-Accel-Buffering',
]);
/** What every answer has, and trailers. */
const ELSEWHERE = ['KGrid-Failed', 'KGrid-Records', 'X-Request-Id'];

test('pages of other origins may read every header that the OpenAPI document says is sent', () => {
  const responses = Object.values(loadInterface().paths)
    .flatMap(operationsOf)
    .flatMap(([, operation]) => Object.values(operation.responses));
  const sent = new Set([...responses.flatMap((each) => Object.keys(each.headers ?? {})), ...ELSEWHERE]);
  const headers = corsHeadersFor({ method: 'GET', headers: {} });
  const exposed = headers[headers.indexOf('access-control-expose-headers') + 1];
  assert.deepEqual(exposed?.split(', '), [...sent.difference(OF_BROWSERS)].sort());
});
