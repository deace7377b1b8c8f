/** Messages of MCP as an assistant sends them. */
import type { Answer } from '../../acceptance/support/client.ts';
import type { Client } from '../../acceptance/support/knowledge-grid.ts';
import { fieldsOf } from '../../../src/lib/json.ts';
import type { Fields } from '../../../src/lib/json.ts';

export const MODERN = '2026-07-28';
export const EARLIER = '2025-11-25';
export const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': MODERN,
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

export type Headers = Readonly<Record<string, string>>;

export interface McpAnswer extends Pick<Answer, 'status' | 'headers' | 'text'> {
  /** The result or the error of the message. */
  readonly result: Fields;
  readonly error: Fields;
}

export type SendMessage = (method: string, params?: Fields, headers?: Headers) => Promise<McpAnswer>;

export interface McpClient {
  /** By the revision without sessions. */
  readonly request: SendMessage;
  /** By the revision before. */
  readonly requestEarlier: SendMessage;
  readonly call: (name: string, given: Fields, meta?: Fields) => Promise<Fields>;
  readonly tools: () => Promise<Fields[]>;
}

const ACCEPTED = 'application/json, text/event-stream';

export function mcpClient(service: Pick<Client, 'post'>): McpClient {
  const request: McpClient['request'] = async (method, params = {}, headers = {}) => {
    const name = params['name'] ?? params['uri'];
    const answer = await service.post(
      '/mcp',
      { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: { ...ENVELOPE, ...fieldsOf(params['_meta']) } } },
      {
        ...{ accept: ACCEPTED, 'mcp-protocol-version': MODERN, 'mcp-method': method },
        ...(typeof name === 'string' && { 'mcp-name': name }),
        ...headers,
      },
    );
    return read(answer);
  };
  return {
    request,
    requestEarlier: async (method, params = {}, headers = {}) => {
      const answer = await service.post(
        '/mcp',
        { jsonrpc: '2.0', id: 1, method, params },
        { accept: ACCEPTED, ...(method !== 'initialize' && { 'mcp-protocol-version': EARLIER }), ...headers },
      );
      return read(answer);
    },
    call: async (name, given, meta = {}) =>
      (await request('tools/call', { name, arguments: given, _meta: meta })).result,
    tools: async () => (await request('tools/list')).result['tools'] as Fields[],
  };
}

/** Of a JSON text, or of the one event of a stream. */
function read({ status, headers, text }: Answer): McpAnswer {
  const [, data] = /^data: (\{.*\})$/m.exec(text) ?? [];
  const message = text === '' ? {} : fieldsOf(JSON.parse(data ?? text));
  return { status, headers, text, result: fieldsOf(message['result']), error: fieldsOf(message['error']) };
}

/** The text that an assistant reads. */
export const textIn = ({ content }: Fields): string => String(fieldsOf((content as unknown[])[0])['text']);
