/** A service behind nginx, with the file of the folder deploy that ends TLS. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { basic } from '../acceptance/support/client.ts';
import { uniqueNaan, welcomeKo } from '../acceptance/support/ko.ts';
import { pathOf } from '../acceptance/support/knowledge-grid.ts';
import { PROJECT, startService } from '../acceptance/support/service.ts';
import { startNginxWithTls } from '../fleet/support/balancers.ts';

const ca = readFileSync(join(PROJECT, 'test/support/tls/authority.pem'));
const credentials = 'ann:a long one';
/** An address that a client says of itself. */
const PRETENDED = '192.0.2.6';

test('through nginx a login, a change and a call work over TLS, and the audit has the address that nginx saw', async () => {
  await using service = await startService({
    profile: 'secure',
    args: ['--trust-proxy', '127.0.0.1', '--public-url', 'https://kgrid.example.org'],
    env: { KGRID_USER: 'ann', KGRID_PASSWORD: 'a long one' },
    credentials,
  });
  await using nginx = await startNginxWithTls(service.url);
  const ask = async (path: string, body?: string): Promise<{ status: number; object: Record<string, unknown> }> => {
    const asked = request(`${nginx.url}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      ca,
      servername: 'localhost',
      headers: {
        host: 'kgrid.example.org',
        authorization: basic(credentials),
        'content-type': 'application/json',
        'x-forwarded-for': PRETENDED,
      },
    }).end(body);
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];
    const told = await text(answer);
    return { status: answer.statusCode ?? 0, object: told === '' ? {} : (JSON.parse(told) as Record<string, unknown>) };
  };

  const ko = welcomeKo({ naan: uniqueNaan() });
  await service.add(ko);
  assert.equal((await ask(`/actuator/activation/reload/${ko.id}`)).status, 303);
  const called = await ask(pathOf(ko, 'welcome'), '{"name": "Ann"}');
  assert.equal(called.object['result'], 'Welcome to the Knowledge Grid, Ann');
  const { links } = (await ask('/')).object as { links: { href: string }[] };
  assert.deepEqual(
    links.filter(({ href }) => !href.startsWith('https://kgrid.example.org/')),
    [],
  );
  const reload = await service.logged((line) => line['audit'] === true && line['action'] === 'reload');
  assert.equal(reload['remoteAddress'], '127.0.0.1');
});
