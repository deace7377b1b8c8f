/** Who may call tools, many at once, and those that leave. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sender } from '../acceptance/support/client.ts';
import { javascriptKo, uniqueNaan } from '../acceptance/support/ko.ts';
import { startService } from '../acceptance/support/service.ts';
import { fieldsOf } from '../../src/lib/json.ts';
import { EARLIER, ENVELOPE, MODERN, mcpClient } from './support/mcp-client.ts';

const naan = uniqueNaan();
const echo = javascriptKo('function run(x) { return { got: x.n }; }', { naan, name: 'echo' });
const slow = javascriptKo('function run() { const end = Date.now() + 1000; while (Date.now() < end); return 1; }', {
  naan,
  name: 'slow',
});
const HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  'mcp-protocol-version': EARLIER,
};
const message = (method: string, params: object = {}, id = 1): string =>
  JSON.stringify({ jsonrpc: '2.0', id, method, params });

test('the secure profile has no tools, and with them needs the login that calls need', async () => {
  await using closed = await startService({ profile: 'secure' });
  assert.equal((await closed.post('/mcp', message('tools/list'), HEADERS)).status, 404);
  await using service = await startService({
    profile: 'secure',
    args: [
      '--mcp',
      'on',
      '--secure-execution',
      '--oauth-issuer',
      'https://issuer.example',
      '--oauth-audience',
      'kgrid',
    ],
    env: { KGRID_USER: 'ann', KGRID_PASSWORD: 'a long password' },
    credentials: 'ann:a long password',
  });
  await service.serve(echo);
  const refused = await sender(service.url)('POST', '/mcp', { body: message('tools/list'), headers: HEADERS });
  assert.equal(refused.status, 401);
  assert.equal(fieldsOf(refused.object['error'])['code'], -32000);
  const metadata = /resource_metadata="([^"]+)"/.exec(String(refused.headers['www-authenticate']))?.[1];
  assert.equal(metadata, `${service.url}/.well-known/oauth-protected-resource/mcp`);
  const { object } = await sender(service.url)('GET', new URL(metadata ?? '').pathname, {});
  assert.deepEqual(object['authorization_servers'], ['https://issuer.example']);
  assert.equal(object['resource'], `${service.url}/mcp`);
  const allowed = await mcpClient(service).call('echo_run', { n: 1 });
  assert.deepEqual(allowed['structuredContent'], { got: 1 });
});

test('a hundred clients of both revisions at once get their own answers, and who leaves is no fault', async () => {
  await using service = await startService();
  await service.serve(echo, slow);
  const mcp = mcpClient(service);
  const answers = await Promise.all(
    Array.from({ length: 100 }, async (_, n) => {
      const send = n % 2 === 0 ? mcp.request : mcp.requestEarlier;
      const { result } = await send('tools/call', { name: 'echo_run', arguments: { n } });
      return fieldsOf(result['structuredContent'])['got'];
    }),
  );
  assert.deepEqual(
    answers,
    Array.from({ length: 100 }, (_, n) => n),
  );
  const leaving = Array.from({ length: 5 }, async () => {
    const controller = new AbortController();
    const sent = fetch(`${service.url}/mcp`, {
      ...{ method: 'POST', headers: HEADERS, signal: controller.signal },
      body: message('tools/call', { name: 'slow_run', arguments: {} }),
    });
    setTimeout(() => controller.abort(), 100);
    await assert.rejects(sent);
  });
  await Promise.all(leaving);
  assert.deepEqual((await mcp.call('echo_run', { n: 7 }))['structuredContent'], { got: 7 });
  assert.deepEqual(
    service.log.filter(({ level }) => level === 'error'),
    [],
  );
});

test('whoever listens hears of tools that come, and the service stops all the same', async () => {
  await using service = await startService();
  const mcp = mcpClient(service);
  assert.deepEqual(await mcp.tools(), []);
  const listening = await fetch(`${service.url}/mcp`, {
    method: 'POST',
    headers: { ...HEADERS, 'mcp-protocol-version': MODERN, 'mcp-method': 'subscriptions/listen' },
    body: message('subscriptions/listen', { _meta: ENVELOPE, notifications: { toolsListChanged: true } }),
  });
  assert.ok(listening.body !== null);
  let heard = '';
  const changed = (async (): Promise<void> => {
    for await (const piece of listening.body ?? []) {
      heard += Buffer.from(piece).toString();
      if (heard.includes('notifications/tools/list_changed')) return;
    }
  })();
  await service.serve(echo);
  await changed;
  assert.equal((await service.stop('SIGTERM')).code, 0);
});
