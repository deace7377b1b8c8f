/** Passes messages of an assistant from its pipes to an activator, and the answers back: one JSON text a line. */
import { fieldsOf, isObject } from '../../src/lib/json.ts';
import type { Fields } from '../../src/lib/json.ts';
import { messageOf } from '../../src/lib/errors.ts';

export interface McpBridgeOptions {
  /** With its path. */
  readonly url: string;
  readonly authorization: string | undefined;
  readonly write: (line: string) => void;
  /** Milliseconds for a request that gives no answer; one that listens has no limit. */
  readonly timeout: number;
}

const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion';
const LISTEN = 'subscriptions/listen';
const OTHER_ERROR = -32_000;
const PARSE_ERROR = -32_700;

export class McpBridge {
  readonly #options: McpBridgeOptions;
  readonly #listening = new Set<AbortController>();
  /** By the id of their message. */
  readonly #open = new Map<unknown, AbortController>();
  /** As agreed by `initialize`; messages of later revisions name theirs each. */
  #version: string | undefined;

  constructor(options: McpBridgeOptions) {
    this.#options = options;
  }

  /** Never rejects. */
  async pass(line: string): Promise<void> {
    if (line.trim() === '') return;
    let message: unknown;
    try {
      message = JSON.parse(line);
    } catch {
      return this.#answer({ id: null, error: { code: PARSE_ERROR, message: 'The line is not JSON' } });
    }
    const fields = fieldsOf(message);
    const { id, method } = fields;
    if (method === 'notifications/cancelled') return this.#cancel(fieldsOf(fields['params'])['requestId']);
    const controller = new AbortController();
    if (id !== undefined) this.#open.set(id, controller);
    if (method === LISTEN) this.#listening.add(controller);
    try {
      await this.#send(fields, line, controller.signal);
    } catch (thrown) {
      const words = `${this.#options.url} cannot be reached: ${messageOf(thrown)}`;
      if (id !== undefined && !controller.signal.aborted)
        this.#answer({ id, error: { code: OTHER_ERROR, message: words } });
    } finally {
      this.#listening.delete(controller);
      if (this.#open.get(id) === controller) this.#open.delete(id);
    }
  }

  /** Ends what has no end of its own: answers that are on their way still come. */
  end(): void {
    for (const controller of this.#listening) controller.abort();
  }

  /** Over HTTP a message is cancelled by hanging up. */
  #cancel(id: unknown): void {
    this.#open.get(id)?.abort();
  }

  async #send(message: Fields, body: string, signal: AbortSignal): Promise<void> {
    const { url, authorization, timeout } = this.#options;
    const isListening = message['method'] === LISTEN;
    const response = await fetch(url, {
      method: 'POST',
      headers: { ...this.#headersOf(message), ...(authorization !== undefined && { authorization }) },
      body,
      signal: isListening ? signal : AbortSignal.any([signal, AbortSignal.timeout(timeout)]),
      redirect: 'error',
    });
    const type = response.headers.get('content-type') ?? '';
    if (type.startsWith('text/event-stream') && response.body !== null) {
      for await (const data of eventsIn(response.body)) this.#take(message, data);
      return;
    }
    const text = await response.text();
    const answer = type.startsWith('application/json') ? parsed(text) : undefined;
    if (isObject(answer) && answer['jsonrpc'] === '2.0') {
      // Where it was refused before it was read, the answer does not know its id.
      const own = answer['id'] === null && message['id'] !== undefined ? { ...answer, id: message['id'] } : answer;
      return this.#take(message, own === answer ? text : JSON.stringify(own));
    }
    if (Array.isArray(answer)) return this.#options.write(JSON.stringify(answer));
    if (response.ok || message['id'] === undefined) return;
    const words = `${url} answered ${response.status}: are assistants let in there (--mcp on)?`;
    this.#answer({ id: message['id'], error: { code: OTHER_ERROR, message: words } });
  }

  #headersOf({ method, params }: Fields): Record<string, string> {
    const fields = fieldsOf(params);
    const said = fieldsOf(fields['_meta'])[VERSION_KEY];
    const version = typeof said === 'string' ? said : this.#version;
    const name = fields['name'] ?? fields['uri'];
    return {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(version !== undefined && method !== 'initialize' && { 'mcp-protocol-version': version }),
      ...(typeof said === 'string' && typeof method === 'string' && { 'mcp-method': method }),
      ...(typeof said === 'string' && typeof name === 'string' && { 'mcp-name': headerText(name) }),
    };
  }

  /** `text`: a message. */
  #take({ method }: Fields, text: string): void {
    const message = parsed(text);
    const version = method === 'initialize' ? fieldsOf(fieldsOf(message)['result'])['protocolVersion'] : undefined;
    if (typeof version === 'string') this.#version = version;
    if (message !== undefined) this.#options.write(JSON.stringify(message));
  }

  #answer(message: object): void {
    this.#options.write(JSON.stringify({ jsonrpc: '2.0', ...message }));
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What a header cannot hold is written in Base64. */
const headerText = (text: string): string =>
  /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !text.startsWith('=?base64?')
    ? text
    : `=?base64?${Buffer.from(text).toString('base64')}?=`;

/** The data of server-sent events. */
async function* eventsIn(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let left = '';
  let data: string[] = [];
  for await (const piece of body) {
    const lines = (left + decoder.decode(piece, { stream: true })).split(/\r?\n/);
    left = lines.pop() ?? '';
    for (const line of lines) {
      if (line.startsWith('data:')) data.push(line.slice(line.startsWith('data: ') ? 6 : 5));
      else if (line === '' && data.length > 0) {
        yield data.join('\n');
        data = [];
      }
    }
  }
}
