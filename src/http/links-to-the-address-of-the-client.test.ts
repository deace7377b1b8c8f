import assert from 'node:assert/strict';
import Fastify from 'fastify';
import { test } from 'node:test';
import { addressOf } from './address.ts';

async function addressFor(headers: Record<string, string>, trustProxy = true, publicUrl?: string): Promise<string> {
  await using app = Fastify({ trustProxy });
  app.get('/', (request) => addressOf(request, publicUrl));
  return (await app.inject({ url: '/', headers: { host: 'inner:8080', ...headers } })).body;
}

test('what a trusted proxy says of the client’s address goes into links', async () => {
  const cases: [Record<string, string>, string][] = [
    [{}, 'http://inner:8080'],
    [{ host: 'kgrid.example' }, 'http://kgrid.example'],
    [{ host: '[::1]:8080' }, 'http://[::1]:8080'],
    [{ 'x-forwarded-host': 'kgrid.example', 'x-forwarded-proto': 'https' }, 'https://kgrid.example'],
    [{ 'x-forwarded-host': 'kgrid.example', 'x-forwarded-port': '8443' }, 'http://kgrid.example:8443'],
    [{ 'x-forwarded-host': 'kgrid.example:9000', 'x-forwarded-port': '8443' }, 'http://kgrid.example:9000'],
    [
      { 'x-forwarded-host': 'kgrid.example', 'x-forwarded-proto': 'https', 'x-forwarded-port': '443' },
      'https://kgrid.example',
    ],
    [{ 'x-forwarded-host': 'kgrid.example', 'x-forwarded-prefix': '/grid/one/' }, 'http://kgrid.example/grid/one'],
    [{ 'x-forwarded-prefix': 'https://elsewhere.example' }, 'http://inner:8080'],
    [{ 'x-forwarded-proto': 'javascript' }, 'http://inner:8080'],
    // The first is what the client asked, the second what the first proxy asked.
    [{ 'x-forwarded-host': 'outer.example, middle', 'x-forwarded-proto': 'https, http' }, 'https://outer.example'],
  ];
  for (const [headers, address] of cases) assert.equal(await addressFor(headers), address, JSON.stringify(headers));
});

test('without trust, and beside a public address, such headers count for nothing', async () => {
  const headers = {
    'x-forwarded-host': 'elsewhere.example',
    'x-forwarded-proto': 'https',
    'x-forwarded-port': '1',
    'x-forwarded-prefix': '/x',
  };
  assert.equal(await addressFor(headers, false), 'http://inner:8080');
  assert.equal(await addressFor(headers, true, 'https://kgrid.example/grid'), 'https://kgrid.example/grid');
});
