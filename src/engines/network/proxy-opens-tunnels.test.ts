import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { test } from 'node:test';
import {
  connectText,
  echo,
  getByTls,
  https,
  names,
  proxied,
  send,
  tcp,
  tunnel,
} from '../../../test/support/network/proxied.ts';

test('TLS goes through to the host that is allowed, and nothing to others', async () => {
  await using server = await https((_, response) => response.end('hello'));
  await using other = await https((_, response) => response.end('other'));
  await using proxy = await proxied({ allow: [`127.0.0.1:${server.port}`, `localhost:${server.port}`] });
  for (const host of ['localhost', '127.0.0.1']) {
    const open = await tunnel(proxy, `${host}:${server.port}`);
    assert.equal(open.line, 'HTTP/1.1 200 Connection established');
    assert.match(await getByTls(open, 'localhost'), /hello/);
  }
  for (const to of [`127.0.0.1:${other.port}`, `localhost:${other.port}`, `127.0.0.2:${server.port}`]) {
    const { status, line, rest } = await tunnel(proxy, to);
    assert.equal(status, 403);
    const said = `99999/net may not connect to ${to}; the operator allows it by --allow-network 99999/net=${to}`;
    assert.equal(line, `HTTP/1.1 403 ${said}`, 'in the line that libraries print');
    assert.equal(rest, said);
  }
  assert.deepEqual(
    proxy.refusals.map(({ status }) => status),
    [403, 403, 403],
  );
});

test('nobody without its token is let in, and learns nothing', async () => {
  await using server = await echo();
  const to = `127.0.0.1:${server.port}`;
  await using proxy = await proxied({ allow: [to] });
  await using other = await proxied({ allow: [to] });
  const [user = '', token = ''] = Buffer.from(proxy.authorization.slice(6), 'base64').toString().split(':');
  const basic = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`;
  const tries = [
    ...[other.authorization, '', 'Basic', basic(':'), basic(`${user}:`), basic(`${user}:${token}x`)],
    ...[basic(`:${token}`), `Bearer ${token}`, proxy.authorization.toLowerCase(), `${proxy.authorization},x`],
  ];
  const bodies = new Set<string>();
  for (const each of tries) {
    for (const request of [
      connectText(to, each),
      `GET http://${to}/ HTTP/1.1\r\nHost: ${to}\r\nProxy-Authorization: ${each}\r\n\r\n`,
      `GET / HTTP/1.1\r\nHost: ${to}\r\nProxy-Authorization: ${each}\r\n\r\n`,
    ]) {
      const { status, rest, head } = await send(proxy.proxy.port, request);
      assert.equal(status, 407, `${each}: ${head}`);
      assert.match(head, /proxy-authenticate: Basic/i);
      bodies.add(rest);
    }
  }
  assert.equal((await send(proxy.proxy.port, `CONNECT ${to} HTTP/1.1\r\nHost: ${to}\r\n\r\n`)).status, 407);
  assert.equal(bodies.size, 1);
  assert.deepEqual(proxy.refusals, [], 'strangers write no log');
});

test('it listens on loopback alone, on a port of its own', async () => {
  await using proxy = await proxied();
  await using other = await proxied();
  assert.notEqual(proxy.proxy.port, other.proxy.port);
  assert.equal(new URL(proxy.proxy.url).hostname, '127.0.0.1');
  const outside = Object.values(networkInterfaces())
    .flatMap((each) => each ?? [])
    .filter(({ internal, family }) => !internal && family === 'IPv4');
  for (const { address } of outside) {
    const socket = connect({ host: address, port: proxy.proxy.port });
    const [error] = (await once(socket, 'error')) as [NodeJS.ErrnoException];
    assert.equal(error.code, 'ECONNREFUSED');
  }
});

test('what is no host and port is refused, and no second request is read behind it', async () => {
  await using server = await echo();
  const to = `127.0.0.1:${server.port}`;
  await using proxy = await proxied({ allow: [to], any: true });
  const { authorization } = proxy;
  const odd = [
    ...[
      '127.0.0.1',
      '127.0.0.1:',
      ':443',
      '127.0.0.1:0',
      '127.0.0.1:65536',
      '127.0.0.1:1e3',
      `http://${to}/`,
      `${to}/`,
    ],
    ...[
      `${to}@evil.example:443`,
      `evil.example:443@${to}`,
      `${to}#x`,
      `${to}?x`,
      `[${to}]`,
      '[::1%25lo]:443',
      `${to}%00`,
    ],
    ...['*:443', 'a..example:443', '::1:443', '%6c:443', 'a b:443', '\\\\127.0.0.1:443'],
  ];
  for (const each of odd) {
    const { status } = await send(proxy.proxy.port, connectText(each, authorization));
    assert.equal(status, 400, each);
  }
  // A second head behind the first, in bytes that a careless proxy would read as a request of its own.
  const smuggled = `CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example\r\nProxy-Authorization: ${authorization}\r\n\r\n`;
  const open = await tunnel(proxy, to, smuggled);
  assert.equal(open.status, 200);
  let echoed = open.rest;
  if (echoed.length < smuggled.length)
    for await (const chunk of open.socket.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      echoed += chunk.toString();
      if (echoed.length >= smuggled.length) break;
    }
  assert.equal(echoed, smuggled, 'it goes to the host as it is');
  open.socket.destroy();
  const both = await send(
    proxy.proxy.port,
    `CONNECT ${to} HTTP/1.1\r\nHost: evil.example:443\r\nProxy-Authorization: ${authorization}\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n`,
  );
  assert.equal(both.status, 400, 'two ways to tell where a body ends');
  assert.ok(proxy.refusals.every(({ status }) => status === 400));
});

test('a name is resolved once, and the very addresses are connected to that were checked', async () => {
  await using right = await tcp((socket) => socket.end('right'));
  await using wrong = await tcp((socket) => socket.end('wrong'), '127.0.0.2', right.port);
  const { lookup, asked } = names({ localhost: [['127.0.0.1'], ['127.0.0.2']] });
  await using proxy = await proxied({ allow: [`localhost:${right.port}`], lookup });
  const open = await tunnel(proxy, `localhost:${right.port}`);
  let found = open.rest;
  for await (const chunk of open.socket as AsyncIterable<Buffer>) found += chunk.toString();
  assert.equal(found, 'right');
  assert.equal(wrong.port, right.port);
  assert.deepEqual(asked, ['localhost']);
});

test('of several addresses the one is taken that answers', async () => {
  await using server = await tcp((socket) => socket.end('here'));
  const { lookup } = names({ localhost: ['127.0.0.2', '127.0.0.1'] });
  await using proxy = await proxied({ allow: [`localhost:${server.port}`], lookup });
  assert.equal((await tunnel(proxy, `localhost:${server.port}`)).status, 200);
});

test('a host that takes no connection is 502, and its code is told', async () => {
  const closed = await echo();
  const to = `127.0.0.1:${closed.port}`;
  await closed[Symbol.asyncDispose]();
  await using proxy = await proxied({ allow: [to] });
  assert.equal((await tunnel(proxy, to)).line, `HTTP/1.1 502 ${to} cannot be reached (ECONNREFUSED)`);
});

test('huge heads, and heads that do not end, are refused', async () => {
  await using proxy = await proxied({ any: true, limits: { headersMs: 200 } });
  const huge = await send(proxy.proxy.port, connectText('a.example:443', `Basic ${'x'.repeat(20_000)}`));
  assert.equal(huge.status, 431);
  const many = await send(proxy.proxy.port, `CONNECT a.example:443 HTTP/1.1\r\n${'a: b\r\n'.repeat(9000)}\r\n`);
  assert.equal(many.status, 431);
  const slow = await send(proxy.proxy.port, 'CONNECT a.example:443 HTTP/1.1\r\nHost: a');
  assert.equal(slow.status, 408);
  const silent = connect({ host: '127.0.0.1', port: proxy.proxy.port });
  silent.resume();
  await once(silent, 'close');
});

test('a tunnel ends when it rests, and sooner when one side has sent all', async () => {
  const ends: Promise<unknown>[] = [];
  await using server = await tcp((socket) => void ends.push(once(socket.resume(), 'end')));
  const to = `127.0.0.1:${server.port}`;
  await using idle = await proxied({ allow: [to], limits: { idleMs: 100 } });
  const resting = await tunnel(idle, to);
  await once(resting.socket.resume(), 'end');
  await using halfOpen = await proxied({ allow: [to], limits: { halfOpenMs: 100 } });
  const half = await tunnel(halfOpen, to);
  half.socket.resume().end('all that I have');
  await once(half.socket, 'end');
  await Promise.all(ends);
  assert.equal(ends.length, 2, 'the other end of each is closed too');
});

test('one side may end first, and still gets all that the other sends', async () => {
  await using server = await tcp((socket) => {
    socket.on('end', () => socket.end('x'.repeat(1_000_000))).resume();
  });
  const to = `127.0.0.1:${server.port}`;
  await using proxy = await proxied({ allow: [to] });
  const open = await tunnel(proxy, to);
  open.socket.end('question');
  let bytes = open.rest.length;
  for await (const chunk of open.socket as AsyncIterable<Buffer>) bytes += chunk.length;
  assert.equal(bytes, 1_000_000);
});

test('a side that does not read holds up the other, not the memory of the service', async () => {
  let sent = 0;
  const flood = Buffer.alloc(1 << 20);
  const broken = Promise.withResolvers<void>();
  const pour = (socket: Socket): void => {
    let flows = true;
    while (flows && !socket.destroyed && sent < 2 ** 30) {
      flows = socket.write(flood);
      sent += flood.length;
    }
    if (!flows) socket.once('drain', () => pour(socket));
  };
  await using server = await tcp((socket) => {
    socket.once('close', () => broken.resolve());
    pour(socket);
  });
  const to = `127.0.0.1:${server.port}`;
  await using proxy = await proxied({ allow: [to], limits: { idleMs: 200 } });
  const open = await tunnel(proxy, to);
  open.socket.pause();
  // Who reads nothing at all is rid of after the time of a rest.
  await broken.promise;
  assert.ok(sent < 64 * 2 ** 20, `${sent} bytes were taken for who reads none`);
  open.socket.destroy();
});

test('more connections than it may have are broken off, and others have theirs', async () => {
  await using server = await echo();
  const to = `127.0.0.1:${server.port}`;
  await using greedy = await proxied({ allow: [to], limits: { connections: 3 } });
  await using modest = await proxied({ allow: [to] });
  const open = [await tunnel(greedy, to), await tunnel(greedy, to), await tunnel(greedy, to)];
  assert.equal((await tunnel(greedy, to).catch(() => ({ status: 0 }))).status, 0);
  assert.match(greedy.refusals[0]?.message ?? '', /more than 3 connections/);
  assert.equal((await tunnel(modest, to)).status, 200);
  for (const { socket } of open) socket.destroy();
});

test('all ends with it, also what is being connected', async () => {
  await using server = await echo();
  const to = `127.0.0.1:${server.port}`;
  const asked = Promise.withResolvers<() => void>();
  const proxy = await proxied({
    allow: [to],
    any: true,
    lookup: (_name, _options, callback) =>
      asked.resolve(() => callback(null, [{ address: '93.184.215.14', family: 4 }])),
  });
  const open = await tunnel(proxy, to);
  const pending = send(proxy.proxy.port, connectText('slow.example:443', proxy.authorization)).catch(() => ({
    status: 0,
  }));
  const answer = await asked.promise;
  const closed = once(open.socket.resume(), 'end');
  const { port } = proxy.proxy;
  await proxy[Symbol.asyncDispose]();
  answer();
  await closed;
  assert.equal((await pending).status, 0);
  const late = connect({ host: '127.0.0.1', port });
  const [error] = (await once(late, 'error')) as [NodeJS.ErrnoException];
  assert.equal(error.code, 'ECONNREFUSED');
});
