/** The address under which the client reached the service, for absolute links. */
import type { FastifyRequest } from 'fastify';

/** `--public-url` wins; `X-Forwarded-*` count only with `--trust-proxy`. */
export function addressOf(request: FastifyRequest, publicUrl: string | undefined): string {
  if (publicUrl !== undefined) return publicUrl;
  // Fastify lists the addresses of proxies only where they are trusted.
  const forwarded = request.ips === undefined ? () => undefined : forwardedTo(request);
  const protocol = (forwarded('proto') ?? request.protocol) === 'https' ? 'https' : 'http';
  const host = forwarded('host') ?? hostOf(request);
  const port = forwarded('port') ?? '';
  // Many proxies name the host without its port, and the port beside it.
  const written = /:\d+$/.test(host) || !/^\d+$/.test(port) ? host : `${host}:${port}`;
  const standard = protocol === 'https' ? /:443$/ : /:80$/;
  return `${protocol}://${written.replace(standard, '')}${prefixOf(request)}`;
}

/** The path under which a trusted proxy has the service; empty where it has none. */
export function prefixOf(request: FastifyRequest): string {
  const path = request.ips === undefined ? undefined : forwardedTo(request)('prefix');
  return path !== undefined && /^(\/[\w.~-]+)+\/?$/.test(path) ? path.replace(/\/$/, '') : '';
}

/** What the outermost proxy says, which is the one that the client asked. */
const forwardedTo =
  ({ headers }: FastifyRequest) =>
  (name: 'proto' | 'host' | 'port' | 'prefix'): string | undefined => {
    const [first] = String(headers[`x-forwarded-${name}`] ?? '').split(',');
    return first?.trim() === '' ? undefined : first?.trim();
  };

/** HTTP/1.0 needs no `Host`. */
function hostOf({ headers: { host }, socket: { localAddress = '', localPort = 0 } }: FastifyRequest): string {
  if (host !== undefined && host !== '') return host;
  return `${localAddress.includes(':') ? `[${localAddress}]` : localAddress}:${localPort}`;
}
