/** Each cell of the table of routes and roles in docs/security.md, from outside. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startService } from '../acceptance/support/service.ts';
import { resourceKo, uniqueNaan, welcomeKo } from '../acceptance/support/ko.ts';
import { accessRows, COLUMNS } from '../documents/support/access-rows.ts';
import type { AccessRow, Cell, Column } from '../documents/support/access-rows.ts';
import { spellingsOf } from './spellings.ts';
import { rawRequest } from './raw-request.ts';

const service = await startService({
  profile: 'secure',
  args: ['--anonymous', 'none', '--mcp', 'on', '--oauth-issuer', 'http://127.0.0.1:9', '--oauth-audience', 'a'],
  env: { KGRID_USER: 'root', KGRID_PASSWORD: 'long enough' },
  credentials: 'root:long enough',
});
after(() => service[Symbol.asyncDispose]());
const { port } = new URL(service.url);

const ko = welcomeKo({ naan: uniqueNaan() });
const other = welcomeKo({ naan: uniqueNaan() });
const files = resourceKo({ naan: other.naan, name: 'files', resources: { 'a.txt': 'a' } });
await service.serve(ko, other, files);
const [endpoint] = await service.endpoints(ko.naan);
const call = `/${String(endpoint?.['@id'])}`;
const [otherEndpoint] = (await service.endpoints(other.naan)).filter((each) =>
  String(each['@id']).includes(other.name),
);
const [filesEndpoint] = (await service.endpoints(other.naan)).filter((each) => each['engine'] === 'resource');
const otherCall = `/${String(otherEndpoint?.['@id'])}`;

async function keyFor(...grants: string[]): Promise<string> {
  const answer = await service.post('/actuator/keys', { grants });
  assert.equal(answer.status, 201, answer.text);
  return String((answer.json as { key: string }).key);
}

async function statusOf(
  method: string,
  path: string,
  key: string | undefined,
  body?: string,
): Promise<{ status: number; text: string }> {
  const gone = new AbortController();
  const response = await fetch(service.url + path, {
    method,
    redirect: 'manual',
    signal: gone.signal,
    headers: {
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body }),
  });
  // Events have no end.
  const text = path.startsWith('/actuator/events') ? '' : await response.text();
  gone.abort();
  return { status: response.status, text };
}

/** A path of the route, of what is there, and whose changes fail where they may be made. */
function pathOf({ route, method }: AccessRow): string {
  if (route === '/:naan/:name/*') return method === 'POST' ? call : `/${String(filesEndpoint?.['@id'])}`;
  if (route === '/endpoints/*') return `/endpoints${call}`;
  if (route === '/kos/*') return '/kos/a/b/c/d/e';
  if (route === '/console/*') return '/console/none';
  const filled = route
    .replace(':naan', ko.naan)
    .replace(':name', ko.name)
    .replace(':version', method === 'DELETE' || method === 'PUT' ? 'v9.9' : ko.version)
    .replace(':engine', 'javascript')
    .replace(':logger', 'http')
    .replace(':digest', '0')
    .replace(':proof', '0')
    .replace(':user', 'nobody')
    .replace(':key', 'kgk_0000000000')
    .replace('*', 'metadata.json');
  return filled.endsWith('/restore') && method === 'POST' ? `${filled}?digest=x` : filled;
}

/** Where the operator is told that it is not there, or that another runs: nothing of access. */
const isOfAccess = (cell: Cell, status: number, text: string): boolean =>
  cell === 'yes'
    ? status !== 401 && status !== 403
    : cell === 'empty'
      ? status === 200 &&
        (text === '[]' || text.includes('"places":{}') || text === '{"services":[]}' || text.includes('"total":0'))
      : String(status) === cell;

const keys = new Map<Column, string | undefined>();
for (const column of COLUMNS) keys.set(column, column === 'none' ? undefined : await keyFor(column));

test('each role may do on each route what the table says', async () => {
  const rows = await accessRows();
  assert.ok(rows.length > 60, `${rows.length}`);
  const wrong: string[] = [];
  for (const row of rows) {
    const path = pathOf(row);
    const body = row.method === 'GET' || row.method === 'DELETE' ? undefined : '[]';
    for (const column of COLUMNS) {
      const { status, text } = await statusOf(row.method, path, keys.get(column), body);
      const cell = row.cells[column];
      // Its tools are those that one may call; what it was sent here is no message.
      if (row.route === '/mcp' && status === 400) continue;
      // No service of that id is there to be refused.
      if (/^\/(?:cds-services|fhir\/Library)\/:id/.test(row.route) && cell === '403' && status === 404) continue;
      if (!isOfAccess(cell, status, text)) wrong.push(`${row.method} ${path} as ${column}: ${cell}, but ${status}`);
    }
  }
  assert.deepEqual(wrong, []);
});

test('what one may not read is like what is not there, in every word and list', async () => {
  const key = await keyFor(`author@${ko.naan}`);
  const told = async (path: string, method = 'GET', body?: string): Promise<string> => {
    const { status, text } = await statusOf(method, path, key, body);
    return `${status} ${text.replace(/"Time":"[^"]*"/, '')}`;
  };
  for (const path of [
    '/kos/N/M/V',
    '/kos/N/M',
    '/kos/N/M?v=V',
    '/kos/N',
    '/kos/ark:/N/M',
    '/kos/N/M/V/metadata.json',
    '/kos/N/M/V/service',
    '/endpoints/N/M/E',
    '/doc/files/N/M/V',
    '/doc/about/N/M/V',
    '/doc/forms/N/M/V',
    '/proxy/artifacts/N/M/V/metadata.json',
    '/actuator/logs/N/M/V',
    '/N/M/1.0/E',
  ]) {
    const filled = (naan: string, name: string): string =>
      path.replace('N', naan).replace('M', name).replace('V', other.version).replace('E', 'welcome');
    const hidden = await told(filled(other.naan, other.name));
    const missing = await told(filled('nobody', other.name));
    assert.equal(hidden.replaceAll(other.naan, 'nobody'), missing, path);
    assert.match(hidden, /^404 /, path);
  }
  for (const method of ['POST', 'PATCH']) {
    const hidden = await told(otherCall, method, '{}');
    const missing = await told(otherCall.replace(other.naan, 'nobody'), method, '{}');
    assert.equal(hidden.replaceAll(other.naan, 'nobody'), missing);
  }
  for (const list of [
    '/kos',
    '/endpoints',
    '/endpoints/javascript',
    '/doc/catalogue',
    '/kos?q=welcome',
    '/kos?limit=1',
    '/actuator/problems',
    '/actuator/removed',
    '/actuator/failures',
  ]) {
    const { status, text } = await statusOf('GET', list, key);
    assert.equal(status, 200, list);
    assert.ok(!text.includes(other.naan), list);
  }
  assert.ok((await statusOf('GET', '/kos', key)).text.includes(ko.naan));
});

test('an author of one naan changes nothing of another', async () => {
  const key = await keyFor(`author@${ko.naan}`, 'caller');
  const json = '{}';
  for (const [method, path, body] of [
    ['PUT', `/kos/${other.id}`, json],
    ['DELETE', `/kos/${other.id}`],
    ['GET', `/actuator/reload/${other.id}`],
    ['POST', `/actuator/activation/refresh/${other.naan}/${other.name}`],
    ['POST', `/kos/${other.id}/restore`],
    ['GET', '/actuator/reload'],
    ['GET', '/actuator/refresh/javascript'],
    ['GET', `/actuator/logs/${other.id}`],
    ['POST', '/actuator/keys', json],
    ['POST', '/proxy/environments', json],
  ] as const)
    assert.equal((await statusOf(method, path, key, body)).status, 403, `${method} ${path}`);
  const upload = async (zip: Buffer): Promise<number> => {
    const form = new FormData();
    form.set('ko', new Blob([new Uint8Array(zip)]), 'ko.zip');
    const response = await fetch(`${service.url}/kos`, {
      method: 'POST',
      body: form,
      headers: { authorization: `Bearer ${key}` },
    });
    await response.text();
    return response.status;
  };
  const { zipOf } = await import('../acceptance/support/ko.ts');
  assert.equal(await upload(await zipOf(other.files)), 403);
  assert.equal(await upload(await zipOf(ko.files)), 200);
  assert.equal((await service.get(`/kos/${other.id}`)).status, 200);
});

test('no spelling of an address leads a reader to a call, nor anybody to what is hidden', async () => {
  const reader = await keyFor('reader');
  const stranger = await keyFor(`operator@${ko.naan}`);
  const statuses = new Set<number>();
  for (const target of spellingsOf(call)) {
    const headers = { Authorization: `Bearer ${reader}`, 'Content-Type': 'application/json' };
    const { status } = await rawRequest(Number(port), { method: 'POST', target, headers, body: '{"name":"A"}' });
    statuses.add(status);
  }
  assert.ok(!statuses.has(200) && statuses.has(403), [...statuses].join());
  for (const target of [...spellingsOf(otherCall), ...spellingsOf(`/endpoints${otherCall}`)]) {
    const headers = { Authorization: `Bearer ${stranger}`, 'Content-Type': 'application/json' };
    const { status, text } = await rawRequest(Number(port), { method: 'POST', target, headers, body: '{"name":"A"}' });
    assert.ok(status !== 200 && status !== 403, `${status} ${target} ${text}`);
  }
  for (const target of spellingsOf(`/kos/${other.id}`)) {
    const { status, text } = await rawRequest(Number(port), {
      method: 'GET',
      target,
      headers: { Authorization: `Bearer ${stranger}` },
    });
    assert.ok(status !== 200 || text.endsWith('[]') || !text.includes(other.naan), `${status} ${target} ${text}`);
  }
});

test('a caller calls by the fast path too, once verified, and not after the key was revoked', async () => {
  const key = await keyFor(`caller@${ko.naan}/${ko.name}`);
  const call_ = async (path: string): Promise<number> => (await statusOf('POST', path, key, '{"name":"A"}')).status;
  for (let n = 0; n < 3; n++) assert.equal(await call_(call), 200);
  for (let n = 0; n < 3; n++) assert.equal(await call_(otherCall), 404);
  const revoked = await service.delete(`/actuator/keys/${key.slice(0, 14)}`);
  assert.equal(revoked.status, 204, revoked.text);
  assert.equal(await call_(call), 401);
});

test('lists differ by who asks, with tags of their own', async () => {
  const list = async (key: string): Promise<Response> =>
    fetch(`${service.url}/kos`, { headers: { authorization: `Bearer ${key}` } });
  const [one, all] = [await list(await keyFor(`reader@${ko.naan}`)), await list(await keyFor('reader'))];
  await Promise.all([one.text(), all.text()]);
  assert.match(String(one.headers.get('vary')), /Authorization/);
  assert.notEqual(one.headers.get('etag'), all.headers.get('etag'));
});
