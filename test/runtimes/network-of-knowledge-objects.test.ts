/** What code of the engines `node` and `python` reaches over the network, at a service that runs it itself. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { AUTHORITY, echo, http, https } from '../support/network/proxied.ts';
import { pathOf } from '../acceptance/support/knowledge-grid.ts';
import { uniqueNaan } from '../acceptance/support/ko.ts';
import type { Ko } from '../acceptance/support/ko.ts';
import { startService } from '../acceptance/support/service.ts';
import { runtimeKo } from './support/runtime-ko.ts';

const CODE = {
  node: {
    'src/index.js': `
const net = require('node:net');
const connect = (port, host) => new Promise((resolve, reject) => {
  const socket = net.connect(port, host, () => { socket.destroy(); resolve('connected'); }).on('error', reject);
});
exports.run = async ({ url, port, host = '127.0.0.1' }) => (url ? (await fetch(url)).text() : connect(port, host));`,
  },
  python: {
    'src/main.py': `
import socket, urllib.request
def run(given):
    if given.get("url"):
        return urllib.request.urlopen(given["url"]).read().decode()
    socket.create_connection((given.get("host", "127.0.0.1"), given["port"])).close()
    return "connected"
`,
  },
} as const;
const ENGINES = ['node', 'python'] as const;

const naan = uniqueNaan();
const server = await https((_, response) => response.end('answer'));
const other = await https((_, response) => response.end('other'));
const plain = await http((_, response) => response.end('plain'));
const database = await echo();
const asked = `localhost:${server.port}`;
const option = (name: string, what: string): string[] => ['--allow-network', `${naan}/${name}=${what}`];
const service = await startService({
  args: [
    ...['--runtimes', 'node,python'],
    ...ENGINES.flatMap((engine) => [
      ...option(`${engine}may`, asked),
      ...option(`${engine}may`, `127.0.0.1:${plain.port}`),
      ...option(`${engine}port`, `*:${database.port}`),
    ]),
  ],
  env: { NODE_EXTRA_CA_CERTS: AUTHORITY, SSL_CERT_FILE: AUTHORITY },
});
after(async () => {
  for (const each of [service, server, other, plain, database]) await each[Symbol.asyncDispose]();
});

const koOf = (engine: (typeof ENGINES)[number], name: string): Ko =>
  runtimeKo({ naan, name: `${engine}${name}`, engine, code: CODE[engine], deployment: { network: asked } });
const kos = ENGINES.flatMap((engine) => ['may', 'port', 'none'].map((name) => koOf(engine, name)));
await service.add(...kos);
for (const ko of kos) await service.reload(ko);

async function ask(ko: Ko, input: unknown): Promise<string> {
  const { status, object, text } = await service.post(pathOf(ko), input);
  if (status === 200) return String(object['result']);
  assert.equal(status, 500, text);
  return String(object['Detail']);
}

for (const engine of ENGINES) {
  const [may, port, none] = ['may', 'port', 'none'].map((name) => koOf(engine, name)) as [Ko, Ko, Ko];

  test(`code in ${engine} reaches what its knowledge object may, and names what it may not`, async () => {
    assert.equal(await ask(may, { url: `https://${asked}/` }), 'answer');
    assert.equal(await ask(may, { url: `http://127.0.0.1:${plain.port}/` }), 'plain');
    const to = `localhost:${other.port}`;
    const said = `${naan}/${engine}may may not connect to ${to} (it asks for ${asked}); the operator allows it by --allow-network ${naan}/${engine}may=${to}`;
    const detail = await ask(may, { url: `https://${to}/` });
    assert.ok(detail.includes(said), detail);
    await service.logged(({ event, msg }) => event === 'connection-refused' && msg === said);
  });

  test(`past the proxy code in ${engine} reaches nothing`, async () => {
    for (const to of [server.port, other.port, Number(new URL(service.url).port)])
      assert.match(
        await ask(may, { port: to }),
        /knowledge objects reach the network by the proxy of HTTPS_PROXY alone; .* --allow-network \S+=\*:port/,
      );
  });

  test(`code in ${engine} reaches a port that is open on every host, and no other`, async () => {
    assert.equal(await ask(port, { port: database.port }), 'connected');
    assert.equal(await ask(port, { port: database.port, host: 'localhost' }), 'connected');
    assert.match(await ask(port, { port: other.port }), /by the proxy of HTTPS_PROXY alone/);
  });

  test(`code in ${engine} without the permission reaches nothing, and the answer says what to allow`, async () => {
    const said = `network access is refused to knowledge objects, and this one asks for ${asked}; the operator allows it by --allow-network ${naan}/${engine}none=${asked}`;
    for (const input of [
      ...[{ url: `https://${asked}/` }, { port: server.port }, { port: server.port, host: 'localhost' }],
      ...[{ url: `https://127.0.0.1:${other.port}/` }, { port: 443, host: 'name.example' }, { port: 443, host: '::1' }],
    ]) {
      const detail = await ask(none, input);
      assert.ok(detail.includes(said), `${JSON.stringify(input)}: ${detail}`);
    }
  });
}
