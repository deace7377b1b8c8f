/** MCP: assistants call the endpoints of knowledge objects as tools. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { notFound } from '../../lib/errors.ts';
import { addressOf } from '../../http/address.ts';
import { declare } from '../../http/methods.ts';
import type { MakeProtocol } from '../../http/protocol.ts';
import { EndpointForms } from '../../execution/validation/endpoint-forms.ts';
import type { Database } from '../../shelf/store/database.ts';
import { ToolCalls } from './call-tool.ts';
import { Definitions } from './definitions.ts';
import { KnowledgeServer, SERVER_NAME, SERVER_TITLE } from './knowledge-server.ts';
import { McpHttp, MCP_PATH } from './mcp-http.ts';
import type { McpHttpOptions } from './mcp-http.ts';
import { plainCall } from './plain-call.ts';
import { ToolNames } from './tool-names.ts';
import { Tools } from './tools.ts';

export interface McpOptions {
  /** More are shown by three that find them. */
  readonly mostTools: number;
  readonly publicUrl: string | undefined;
  /** Of tokens. */
  readonly issuer: string | undefined;
  readonly version: string;
  /** Where names of tools are kept. */
  readonly database: Database | undefined;
  /** Activations so far. */
  readonly activations: () => number;
  /** Calls the listener when something was activated. */
  readonly onActivated: (listener: () => void) => void;
}

/** Milliseconds in which activations that follow each other are one. */
const PAUSE_MS = 200;
const METADATA_PATH = `/.well-known/oauth-protected-resource${MCP_PATH}`;

export const mcp =
  (options: McpOptions): MakeProtocol =>
  (execution, service) => {
    const { mostTools, publicUrl, issuer, version, activations } = options;
    const log = service.log.child({ part: 'mcp' });
    const forms = new EndpointForms();
    const definitions = new Definitions(forms);
    const calls = new ToolCalls({ execution, gate: service.gate, log });
    const names = new ToolNames({ database: options.database, log });
    const { activator } = execution;
    const tools = new Tools({ activator, activations, names, onChange: () => http.tell() });
    const { factory } = new KnowledgeServer({ execution, tools, definitions, calls, mostTools, version });
    const stamp = `,"io.modelcontextprotocol/serverInfo":${JSON.stringify({ name: SERVER_NAME, title: SERVER_TITLE, version })}},"resultType":"complete"}`;

    const plain: McpHttpOptions['plain'] = async (body, request, call) => {
      const found = plainCall(body, request.headers);
      const endpoint = found && (tools.known ?? (await tools.current())).get(found.name);
      if (found === undefined || endpoint === undefined) return undefined;
      // What one may not call is as if it were not there, which the library says.
      if (!execution.identity.allows(call.principal, 'execution', endpoint.ko.id)) return undefined;
      const { id, given, meta, isModern } = found;
      const { form } = await definitions.of(endpoint);
      const result = await calls.run({ endpoint, form }, given, meta, call);
      return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${isModern ? stamped(result, stamp) : result}}`;
    };

    const metadataOf = (request: FastifyRequest): string => `${addressOf(request, publicUrl)}${METADATA_PATH}`;
    const http = new McpHttp({ factory, plain, ...(issuer !== undefined && { metadataOf }) }, service);

    // Whoever is active first under a name has it, also where no assistant has asked yet.
    let timer: NodeJS.Timeout | undefined;
    options.onActivated(() => {
      timer ??= setTimeout(() => {
        timer = undefined;
        if (activator.loaded) void tools.current().catch(() => undefined);
      }, PAUSE_MS).unref();
    });
    return {
      addRoutes(app: FastifyInstance) {
        app.addHook('onClose', () => {
          clearTimeout(timer);
          return forms[Symbol.asyncDispose]();
        });
        http.addRoutes(app);
        declare(app, METADATA_PATH, {
          GET: {
            access: 'public',
            handler: (request) => {
              if (issuer === undefined) throw notFound('Calls take no tokens of an issuer here');
              // https://www.rfc-editor.org/rfc/rfc9728#section-2
              return {
                resource: `${addressOf(request, publicUrl)}${MCP_PATH}`,
                authorization_servers: [issuer],
                bearer_methods_supported: ['header'],
                resource_name: SERVER_TITLE,
              };
            },
          },
        });
      },
    };
  };

/** `result` ends with its `_meta`. */
const stamped = (result: string, stamp: string): string => result.slice(0, -2) + stamp;
