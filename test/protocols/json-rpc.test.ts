/** A protocol in one file, JSON-RPC 2.0: all that it needs is the execution core and a route with a form of errors. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { createApp } from '../../src/app.ts';
import { toConfig } from '../../src/config/config.ts';
import { CallTokens } from '../../src/engines/call-token.ts';
import { Calls } from '../../src/execution/calls.ts';
import { FailedCalls } from '../../src/execution/failed-calls.ts';
import { wantedByPath } from '../../src/execution/find-endpoint.ts';
import { HeldBytes } from '../../src/execution/held-bytes.ts';
import { Negotiation } from '../../src/execution/negotiation.ts';
import { requireJson, textBody } from '../../src/http/body.ts';
import { type ErrorForm, toServiceError } from '../../src/http/errors.ts';
import { declare } from '../../src/http/methods.ts';
import { callOfRequest, ClientGone, type MakeProtocol } from '../../src/http/protocol.ts';
import { Identity } from '../../src/identity/identity.ts';
import { ANONYMOUS, type Principal } from '../../src/identity/principal.ts';
import { bodyNotReadable, methodNotAllowed, type ServiceError } from '../../src/lib/errors.ts';
import { Grants } from '../../src/identity/grants.ts';
import { createLog } from '../../src/lib/log.ts';
import { Output } from '../../src/lib/output.ts';
import { Lifecycle } from '../../src/lifecycle.ts';
import { callCases } from '../acceptance/support/call-cases.ts';
import { clientOf } from '../acceptance/support/knowledge-grid.ts';
import { uniqueNaan } from '../acceptance/support/ko.ts';

/** `method`: the path of an endpoint; `params`: its input. */
interface Call {
  readonly id?: unknown;
  readonly method: string;
  readonly params?: unknown;
}

const CODES: Readonly<Record<string, number>> = { 'body-not-readable': -32700, 'endpoint-not-found': -32601 };

const errorText = ({ status, code, message }: ServiceError, id: unknown = null): string =>
  JSON.stringify({ jsonrpc: '2.0', id, error: { code: CODES[code] ?? -32000, message, data: { status, code } } });

/** What is refused before the call is read, such as a login that is missing, is worded like what the call itself throws. */
const RPC_ERRORS: ErrorForm = { type: 'application/json', body: (error) => errorText(error) };

const jsonRpc: MakeProtocol = ({ activator, calls, finder, identity }, { gate }) => ({
  addRoutes(app) {
    declare(
      app,
      '/rpc',
      {
        POST: {
          access: 'execution',
          handler: async (request, reply) => {
            requireJson(request);
            const { id, method, params = null } = callIn(textBody(request));
            const text = JSON.stringify(params);
            const trace = gate.ids.traceOf(request.raw, request.id);
            void reply.type(RPC_ERRORS.type);
            try {
              const endpoint = await finder.require(wantedByPath(method, undefined));
              if (endpoint.entry.method !== 'post') throw methodNotAllowed('POST', method, ['GET', 'HEAD']);
              new Negotiation(endpoint).readsJson('application/json');
              const input = { body: text, text, contentType: 'application/json', json: true };
              const result = await calls.invoke(
                { endpoint, set: activator.set },
                { ...input, ...callOfRequest(request.raw, trace, identity.caller(request.headers, request.principal)) },
                new ClientGone(reply.raw),
              );
              return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`;
            } catch (thrown) {
              return errorText(toServiceError(thrown, request.id), id);
            }
          },
        },
      },
      { errors: RPC_ERRORS },
    );
  },
});

/** @throws bodyNotReadable. */
function callIn(text: string): Call {
  try {
    return JSON.parse(text) as Call;
  } catch (cause) {
    throw bodyNotReadable('The body is not JSON', { cause });
  }
}

const log = createLog({ level: 'silent', format: 'json' }, new Output(1));
const folder = await mkdtemp(join(tmpdir(), 'kgrid-rpc-'));
const lifecycle = new Lifecycle();
const app = await createApp({
  config: toConfig(new Map([['max-body', { values: ['64KB'], source: 'the test' }]])),
  shelf: join(folder, 'shelf'),
  build: { version: '0', commit: 'unknown' },
  lifecycle,
  environment: {},
  cache: folder,
  log,
  lostLines: () => 0,
  protocols: [jsonRpc],
});
after(async () => {
  await app[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});
await app.server.listen({ host: '127.0.0.1', port: 0 });
const url = `http://127.0.0.1:${(app.server.server.address() as AddressInfo).port}`;
await app.shelf.ready();
await app.fleet.join(app.activator, app.runtimes, { name: 'rpc', address: url });
await app.activator.start();
await app.fleet.begin();
lifecycle.manifests.end();
const service = clientOf(url);

interface RpcAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: {
    readonly id: unknown;
    readonly result?: unknown;
    readonly error?: { code: number; message: string; data: { status: number; code: string } };
  };
}

async function send(body: string, type = 'application/json'): Promise<RpcAnswer> {
  const response = await fetch(`${url}/rpc`, { method: 'POST', body, headers: { 'content-type': type } });
  return { status: response.status, headers: response.headers, body: (await response.json()) as RpcAnswer['body'] };
}

test('the calls of the acceptance tests give the same by JSON-RPC', async () => {
  const cases = callCases(uniqueNaan());
  await service.serve(...new Set(cases.flatMap(({ kos }) => kos)));
  for (const [id, { title, path, input, expected }] of cases.entries()) {
    const { body } = await send(`{"jsonrpc":"2.0","id":${id},"method":"${path}","params":${input}}`);
    assert.equal(body.id, id);
    if ('result' in expected) assert.deepEqual(body.result, expected.result, `${title}: ${JSON.stringify(body)}`);
    else {
      const { status, code, detail } = expected;
      assert.deepEqual(body.error?.data, { status, code }, title);
      if (typeof detail === 'string') assert.equal(body.error?.message, detail, title);
      else assert.match(body.error?.message ?? '', detail, title);
    }
  }
});

test('what is refused before a call is read has the form of the route', async () => {
  const cases: [number, string, Promise<RpcAnswer>][] = [
    [400, 'body-not-readable', send('{')],
    [413, 'body-too-large', send(JSON.stringify('x'.repeat(70_000)))],
    [415, 'unsupported-media-type', send('x', 'text/plain')],
  ];
  for (const [status, code, sent] of cases) {
    const answer = await sent;
    assert.equal(answer.status, status);
    assert.equal(answer.headers.get('kgrid-error'), code);
    assert.deepEqual(answer.body.error?.data, { status, code });
  }
  const other = await fetch(`${url}/rpc`);
  assert.equal(other.status, 405);
  assert.match(await other.text(), /^\{"jsonrpc":"2\.0","id":null,"error":/);
});

test('the core asks who calls, also where a route asks nobody', async () => {
  const naan = uniqueNaan();
  const [first] = callCases(naan);
  assert.ok(first !== undefined);
  await service.serve(...first.kos);
  const endpoint = app.activator.set.find(first.path.slice(1));
  assert.ok(endpoint !== undefined);
  const identity = new Identity({ profile: 'secure', anonymous: 'reader', tokens: new CallTokens(), log });
  const observed: string[] = [];
  const failures = new FailedCalls({ info: () => undefined, warn: () => undefined });
  const calls = new Calls({
    identity,
    failures,
    held: new HeldBytes(1e6),
    observe: (_endpoint, outcome) => void observed.push(outcome),
  });
  const call = (principal: Principal | undefined): Promise<string> =>
    calls.invoke(
      { endpoint, set: app.activator.set },
      {
        ...{ body: first.input, text: first.input, contentType: 'application/json', json: true },
        ...{ trace: undefined, caller: undefined, principal },
      },
    );
  await assert.rejects(call(ANONYMOUS), /^ServiceError: anonymous may not call/);
  await assert.rejects(call({ ...ANONYMOUS, kind: 'call', origin: { depth: 1, deadline: Infinity } }), /may not call/);
  await call({ name: 'ada', kind: 'basic', grants: Grants.of(['caller']) });
  await call(undefined);
  assert.deepEqual(observed, ['not-authorized', 'not-authorized', 'done', 'done']);
  failures[Symbol.dispose]();
});

test('calls by JSON-RPC are measured and counted like any other', async () => {
  const naan = uniqueNaan();
  const [first] = callCases(naan);
  assert.ok(first !== undefined);
  await service.serve(...first.kos);
  for (let n = 1; n <= 3; n++)
    await send(`{"jsonrpc":"2.0","id":${n},"method":"${first.path}","params":${first.input}}`);
  const { text } = await service.get('/actuator/prometheus');
  const line = text.split('\n').find((each) => each.startsWith('kgrid_executions_total') && each.includes(naan));
  assert.equal(line?.split(' ').at(-1), '3');
});
