/** A runtime that comes with the service, and the little of the service that it asks for. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import pino from 'pino';
import { CallTokens } from '../../src/engines/call-token.ts';
import { EngineRegistry } from '../../src/engines/engine-registry.ts';
import type { Registration } from '../../src/engines/remote/runtime.ts';
import { RuntimeRegistry } from '../../src/engines/remote/runtime-registry.ts';
import { startOwnRuntimes } from '../../src/engines/remote/start-own-runtimes.ts';
import { disposeAll } from '../../src/lib/dispose.ts';
import type { EngineUnderTest } from './engine.ts';
import { temporaryFolder } from './temporary-folder.ts';

const MAX_RESULT_BYTES = 100_000;
const CALL_MILLISECONDS = 3000;

/** Starts it, and waits until it has registered. */
export async function startRuntime(name: string): Promise<EngineUnderTest> {
  const folder = await temporaryFolder();
  const engines = new EngineRegistry();
  const limits = { callTimeout: CALL_MILLISECONDS, maxResult: MAX_RESULT_BYTES };
  const log = pino({ level: 'silent' });
  const secret = 'of this test';
  const registry = new RuntimeRegistry({
    ...limits,
    engines,
    activationTimeout: 10_000,
    queueLimit: 100,
    tokens: new CallTokens(),
    secret,
    expiry: 60_000,
    log,
  });
  const artifacts = new Map<string, string>();
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost');
    if (pathname !== '/proxy/environments') {
      const artifact = artifacts.get(decodeURI(pathname));
      response.writeHead(artifact === undefined ? 404 : 200).end(artifact);
      return;
    }
    let body = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
    request.once('end', () => {
      const registration = JSON.parse(body) as Registration;
      const status = registry.register(registration, address, true);
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ ...registration, status }));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const registered = once(engines, 'runtime');
  const own = await startOwnRuntimes({
    ...limits,
    onAbsent: () => undefined,
    names: [name],
    registry,
    secret,
    address,
    cache: folder.path,
    sourceBuilds: [],
    maxBody: 1e6,
    environment: process.env,
    log,
  });
  await registered;
  return {
    engine: registry.engine(name),
    maxResultBytes: MAX_RESULT_BYTES,
    serve(ko, files) {
      for (const [path, text] of Object.entries(files)) artifacts.set(`/proxy/artifacts/${ko}/${path}`, text);
    },
    async [Symbol.asyncDispose]() {
      registry[Symbol.dispose]();
      await disposeAll(own);
      await engines[Symbol.asyncDispose]();
      server.closeAllConnections();
      server.close();
      await folder[Symbol.asyncDispose]();
    },
  };
}
