/** Requests of plain http, which clients give to a proxy whole. */
import type { LookupAddress } from 'node:dns';
import { once } from 'node:events';
import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { formatHostPort } from '../../lib/host-port.ts';
import type { HostPort } from '../../lib/host-port.ts';
import { request as requestOf } from '../../lib/http-module.ts';
import { connectTo } from './connect.ts';
import type { NetworkLimits } from './limits.ts';
import { Refusal } from './refusal.ts';

export interface ForwardedRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly url: URL;
  readonly target: HostPort;
  readonly addresses: readonly LookupAddress[];
  readonly limits: NetworkLimits;
}

/** Sends it on, with the host of its address whatever else it says, and its answer back. @throws Refusal. */
export async function forward({ request, response, url, target, addresses, limits }: ForwardedRequest): Promise<void> {
  const socket = await connectTo(target, addresses, limits.connectMs);
  if (response.destroyed) return void socket.destroy();
  response.once('close', () => socket.destroy());
  socket.setTimeout(limits.idleMs, () => socket.destroy());
  const onward = requestOf({
    createConnection: () => socket,
    method: request.method ?? 'GET',
    path: `${url.pathname}${url.search}`,
    setHost: false,
    headers: { ...endToEnd(request), host: url.host, connection: 'close', ...framing(request) },
  });
  try {
    // An answer may come before the body was read; what goes wrong with that ends `onward`.
    pipeline(request, onward).catch(() => undefined);
    const answer = await answerTo(onward);
    response.writeHead(answer.statusCode ?? 502, endToEnd(answer));
    await pipeline(answer, response);
  } catch (thrown) {
    socket.destroy();
    throw new Refusal(502, `${formatHostPort(target)} broke off before it had answered`, { cause: thrown });
  }
}

async function answerTo(onward: ClientRequest): Promise<IncomingMessage> {
  const [answer] = (await once(onward, 'response')) as [IncomingMessage];
  return answer;
}

/** What concerns one connection alone, and the credentials of this proxy. */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  ...['connection', 'keep-alive', 'proxy-connection', 'proxy-authorization', 'proxy-authenticate', 'te', 'trailer'],
  ...['transfer-encoding', 'upgrade', 'expect', 'http2-settings'],
]);

/** The others, each as often as it is there. */
function endToEnd({ headers, headersDistinct }: IncomingMessage): Record<string, string[]> {
  const named = new Set((headers.connection ?? '').split(',').map((each) => each.trim().toLowerCase()));
  const kept = Object.entries(headersDistinct).filter(([name]) => !HOP_BY_HOP.has(name) && !named.has(name));
  return Object.fromEntries(kept.map(([name, values]) => [name, values ?? []]));
}

/** Where a body begins and ends must be said anew: Node leaves it out for methods that have none as a rule. */
const framing = ({ headers }: IncomingMessage): Record<string, string> =>
  headers['transfer-encoding'] === undefined ? {} : { 'transfer-encoding': 'chunked' };
