/** Behaves as the node runtime of others does. */
import type { ServerResponse } from 'node:http';
import type { JsonObject } from '../../acceptance/support/client.ts';
import { RuntimeOfOthers, freePort } from './runtime-of-others.ts';
import type { Activator } from './runtime-of-others.ts';

export class RecordedNodeRuntime extends RuntimeOfOthers {
  /** "The node runtime registers just before it listens." */
  static async start(activator: Activator, engine = 'node'): Promise<RecordedNodeRuntime> {
    const runtime = new RecordedNodeRuntime(activator, engine, await freePort());
    await runtime.register(true);
    await runtime.listen();
    return runtime;
  }

  /** "The node runtime answers with the same `uri`." */
  protected activated({ uri }: JsonObject): JsonObject {
    this.held.add(String(uri));
    return { id: uri, uri, activated: new Date().toISOString(), status: 'Activated' };
  }

  /** "Reports an exception of the KO as 400 `{"description"}`." */
  protected failed(error: Error): { status: number; body: JsonObject } {
    return { status: 400, body: { description: String(error) } };
  }

  protected send(response: ServerResponse, status: number, body: JsonObject): void {
    response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(body));
  }
}
