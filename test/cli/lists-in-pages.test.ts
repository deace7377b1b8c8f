import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { test } from 'node:test';
import { ActivatorClient } from '../../cli/lib/client.ts';

/** An activator with so many KOs; `paged`: it knows parts of lists. */
async function activatorWith(count: number, paged: boolean) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost');
    const from = paged ? Number(searchParams.get('after') ?? 0) : 0;
    const many = paged ? Number(searchParams.get('limit') ?? count) : count;
    const list = Array.from({ length: Math.min(many, count - from) }, (_, i) => ({ '@id': `a/n${from + i}/v1` }));
    if (from + many < count) response.setHeader('link', `<${pathname}?limit=${many}&after=${from + many}>; rel="next"`);
    response.setHeader('content-type', 'application/json').end(JSON.stringify(list));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, asked, [Symbol.asyncDispose]: async () => void (await once(server.close(), 'close')) };
}

test('lists are read page by page, and whole where an activator knows no pages', async () => {
  for (const paged of [true, false]) {
    await using activator = await activatorWith(2500, paged);
    const kos = await new ActivatorClient(activator.url).knowledgeObjects();
    assert.deepEqual(new Set(kos.map(({ key }) => key)).size, 2500);
    assert.equal(activator.asked.length, paged ? 3 : 1);
  }
});

test('a link that leads elsewhere, or round in a circle, is not followed for ever', async () => {
  for (const link of ['<http://127.0.0.2:1/kos?after=x>; rel="next"', '</kos?limit=1000>; rel="next"']) {
    let asked = 0;
    const server = createServer((_request, response) => {
      asked++;
      response.writeHead(200, { link, 'content-type': 'application/json' }).end('[]');
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const client = new ActivatorClient(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    await assert.rejects(client.knowledgeObjects(), /does not answer as an activator does/);
    assert.ok(asked <= 2, String(asked));
    await once(server.close(), 'close');
  }
});
