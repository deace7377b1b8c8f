import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { http, proxied, send, tcp } from '../../../test/support/network/proxied.ts';
import type { Proxied } from '../../../test/support/network/proxied.ts';

/** @param lines behind the first one. */
const ask = ({ proxy, authorization }: Proxied, line: string, lines: readonly string[] = [], body = '') =>
  send(
    proxy.port,
    `${line}\r\nHost: whatever.example\r\nConnection: close\r\nProxy-Authorization: ${authorization}\r\n${lines.map((each) => `${each}\r\n`).join('')}\r\n${body}`,
  );

test('a request goes on to the host of its address, without what concerns the proxy', async () => {
  const seen: { method?: string | undefined; url?: string | undefined; headers: unknown; body: string }[] = [];
  await using server = await http((request, response) => void record(request, response));
  const record = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method, url, headersDistinct } = request;
    seen.push({ method, url, headers: { ...headersDistinct }, body: await text(request) });
    response.writeHead(201, {
      'x-answer': ['1', '2'],
      'keep-alive': 'timeout=99',
      connection: 'close, x-hop',
      'x-hop': 'h',
    });
    response.end('done');
  };
  const to = `127.0.0.1:${server.port}`;
  await using proxy = await proxied({ allow: [to] });
  const answer = await ask(
    proxy,
    `POST http://${to}/a/b?c=%20d#e HTTP/1.1`,
    ['X-Mine: 1', 'X-Mine: 2', 'Proxy-Connection: keep-alive', 'TE: trailers', 'Content-Length: 5', 'Upgrade: x'],
    'hello',
  );
  assert.equal(answer.status, 201);
  assert.match(answer.head, /x-answer: 1\r\nx-answer: 2/i);
  assert.doesNotMatch(answer.head, /x-hop|timeout=99/i);
  assert.equal(answer.rest, 'done'.length.toString(16) + '\r\ndone\r\n0\r\n\r\n');
  assert.deepEqual(seen, [
    {
      method: 'POST',
      url: '/a/b?c=%20d',
      headers: { 'x-mine': ['1', '2'], 'content-length': ['5'], host: [to], connection: ['close'] },
      body: 'hello',
    },
  ]);
});

test('a body without a length keeps its frame, also where the method has none as a rule', async () => {
  const bodies: string[] = [];
  await using server = await http((request, response) => {
    void text(request).then((body) => {
      bodies.push(`${request.method ?? ''} ${body}`);
      response.end();
    });
  });
  const to = `127.0.0.1:${server.port}`;
  await using proxy = await proxied({ allow: [to] });
  const smuggled = 'GET /second HTTP/1.1\r\nHost: x\r\n\r\n';
  const chunked = `${smuggled.length.toString(16)}\r\n${smuggled}\r\n0\r\n\r\n`;
  for (const method of ['GET', 'DELETE', 'POST'])
    assert.equal(
      (await ask(proxy, `${method} http://${to}/ HTTP/1.1`, ['Transfer-Encoding: chunked'], chunked)).status,
      200,
    );
  assert.deepEqual(
    bodies,
    ['GET', 'DELETE', 'POST'].map((method) => `${method} ${smuggled}`),
  );
});

test('a redirect is for the client, whose next request is checked as any', async () => {
  await using secret = await http((_, response) => response.end('secret'));
  await using server = await http((_, response) =>
    response.writeHead(302, { location: `http://127.0.0.1:${secret.port}/` }).end(),
  );
  await using proxy = await proxied({ allow: [`127.0.0.1:${server.port}`] });
  const moved = await ask(proxy, `GET http://127.0.0.1:${server.port}/ HTTP/1.1`);
  assert.equal(moved.status, 302);
  const [, location = ''] = /location: (\S+)/i.exec(moved.head) ?? [];
  const refused = await ask(proxy, `GET ${location} HTTP/1.1`);
  assert.equal(refused.status, 403);
  assert.match(
    refused.rest,
    /^99999\/net may not connect to 127\.0\.0\.1:\d+; the operator allows it by --allow-network/,
  );
});

test('what is no address of plain http is refused', async () => {
  await using proxy = await proxied({ any: true });
  for (const url of [
    '/',
    '/etc/passwd',
    'https://a.example/',
    'ftp://a.example/',
    'http://u:p@a.example/',
    'http://',
    '*',
  ])
    assert.equal((await ask(proxy, `GET ${url} HTTP/1.1`)).status, 400, url);
  for (const url of [
    'http://0x7f.1/',
    'http://localhost/',
    'http://[::ffff:127.0.0.1]/',
    'http://127.0.0.1:8080/actuator',
  ])
    assert.equal((await ask(proxy, `GET ${url} HTTP/1.1`)).status, 403, url);
  assert.equal(
    (
      await ask(
        proxy,
        'GET http://a.example/ HTTP/1.1',
        ['Content-Length: 1', 'Transfer-Encoding: chunked'],
        '0\r\n\r\n',
      )
    ).status,
    400,
    'two ways to tell where a body ends',
  );
});

test('a host that breaks off, answers nonsense or comes too early is no trouble', async () => {
  const answers = ['', 'nonsense\r\n\r\n', `HTTP/1.1 200 OK\r\nA: ${'x'.repeat(40_000)}\r\n\r\n`];
  for (const each of answers) {
    await using server = await tcp((socket) => void socket.once('data', () => socket.end(each)));
    const to = `127.0.0.1:${server.port}`;
    await using proxy = await proxied({ allow: [to] });
    const { status, rest } = await ask(proxy, `GET http://${to}/ HTTP/1.1`);
    assert.deepEqual([status, rest], [502, `${to} broke off before it had answered`], each.slice(0, 30));
  }
  await using early = await http((_, response) => response.writeHead(413).end('too large'));
  const to = `127.0.0.1:${early.port}`;
  await using proxy = await proxied({ allow: [to] });
  const { status } = await ask(proxy, `POST http://${to}/ HTTP/1.1`, ['Content-Length: 1000000'], 'only a part');
  assert.equal(status, 413, 'an answer does not wait for the rest of the body');
});

test('an answer that stops halfway does not look whole', async () => {
  await using server = await tcp(
    (socket) => void socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf')),
  );
  const to = `127.0.0.1:${server.port}`;
  await using proxy = await proxied({ allow: [to] });
  const { head, rest } = await ask(proxy, `GET http://${to}/ HTTP/1.1`).catch(() => ({ head: '', rest: '' }));
  assert.ok(!head.includes('chunked') && rest.length < 10, head);
});
