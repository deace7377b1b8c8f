/**
 * Nearly all that assistants send is calls of tools with all that the protocol asks for. Such a call needs no library, whose
 * reading of it costs more than the whole call; what is not plain is the library's, which says what is wrong with it.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { isObject } from '../../lib/json.ts';
import type { Fields } from '../../lib/json.ts';

export interface PlainCall {
  readonly id: string | number;
  readonly name: string;
  readonly given: Fields | undefined;
  readonly meta: unknown;
  /** By the revision without sessions, whose results say more of themselves. */
  readonly isModern: boolean;
}

export const METHOD = 'tools/call';
const MODERN = '2026-07-28';
const EARLIER = new Set(['2025-11-25', '2025-06-18', '2025-03-26']);
const PREFIX = 'io.modelcontextprotocol/';
const PARAMS = new Set(['name', 'arguments', '_meta']);
const MESSAGE = new Set(['jsonrpc', 'id', 'method', 'params']);

export function plainCall(body: unknown, headers: IncomingHttpHeaders): PlainCall | undefined {
  if (!isObject(body) || body['jsonrpc'] !== '2.0' || body['method'] !== METHOD) return undefined;
  const { id, params } = body;
  if (typeof id !== 'string' && !Number.isSafeInteger(id)) return undefined;
  if (!isObject(params) || !hasOnly(body, MESSAGE) || !hasOnly(params, PARAMS)) return undefined;
  const { name, arguments: given, _meta: meta } = params;
  if (typeof name !== 'string' || (given !== undefined && !isObject(given))) return undefined;
  if (meta !== undefined && !isObject(meta)) return undefined;
  if (!acceptsBoth(headers.accept)) return undefined;
  const version = headers['mcp-protocol-version'];
  const isModern = version === MODERN;
  if (isModern) {
    if (headers['mcp-method'] !== METHOD || headers['mcp-name'] !== name || !isEnvelope(meta)) return undefined;
  } else if (!EARLIER.has(String(version)) || claims(meta)) return undefined;
  return { id: id as string | number, name, given, meta, isModern };
}

const hasOnly = (fields: Fields, names: ReadonlySet<string>): boolean =>
  Object.keys(fields).every((key) => names.has(key));

const acceptsBoth = (accept: string | undefined): boolean =>
  accept !== undefined &&
  accept.includes('application/json') &&
  accept.includes('text/event-stream') &&
  !accept.includes('q=');

const claims = (meta: Fields | undefined): boolean =>
  meta !== undefined && Object.keys(meta).some((key) => key.startsWith(PREFIX));

/** What the revision without sessions asks each message to say of its client. */
function isEnvelope(meta: Fields | undefined): boolean {
  if (meta?.[`${PREFIX}protocolVersion`] !== MODERN || !isObject(meta[`${PREFIX}clientCapabilities`])) return false;
  const capabilities = meta[`${PREFIX}clientCapabilities`];
  const client = meta[`${PREFIX}clientInfo`];
  return (
    isObject(capabilities) &&
    Object.keys(capabilities).length === 0 &&
    isObject(client) &&
    hasOnly(client, CLIENT) &&
    typeof client['name'] === 'string' &&
    typeof client['version'] === 'string' &&
    Object.keys(meta).every((key) => !key.startsWith(PREFIX) || ENVELOPE.has(key.slice(PREFIX.length)))
  );
}

const CLIENT = new Set(['name', 'version']);
const ENVELOPE = new Set(['protocolVersion', 'clientCapabilities', 'clientInfo']);
