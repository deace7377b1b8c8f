/** Behaves as the python runtime of others does: one thread, one request on a connection. */
import type { ServerResponse } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import type { Answer, JsonObject } from '../../acceptance/support/client.ts';
import { RuntimeOfOthers, freePort } from './runtime-of-others.ts';
import type { Activator, Asked } from './runtime-of-others.ts';

/** The recorded one waits for three seconds. */
const REGISTERS_AFTER_MS = 1000;

export class RecordedPythonRuntime extends RuntimeOfOthers {
  #thread: Promise<unknown> = Promise.resolve();

  /**
   * It registers a while after its start, "even where its port was taken": a port that is given is.
   * Resolves when it has registered.
   */
  static async start(
    activator: Activator,
    { engine = 'python', takenPort }: { engine?: string; takenPort?: number } = {},
  ): Promise<RecordedPythonRuntime> {
    const runtime = new RecordedPythonRuntime(activator, engine, takenPort ?? (await freePort()));
    if (takenPort === undefined) await runtime.listen();
    await wait(REGISTERS_AFTER_MS);
    await runtime.register(true);
    return runtime;
  }

  /** While its one thread waits for the activator it answers nobody. */
  override register(forceUpdate: boolean, more: JsonObject = {}): Promise<Answer> {
    return this.#inTurn(() => super.register(forceUpdate, more));
  }

  protected override handle(asked: Asked, response: ServerResponse): Promise<void> {
    return this.#inTurn(() => super.handle(asked, response));
  }

  /** "The python runtime answers with a key (`python_trimzeros_1_0_trimzeros`) and its own `baseUrl`." */
  protected activated({ uri }: JsonObject): JsonObject {
    const key = String(uri).replaceAll(/[^A-Za-z0-9]/g, '_');
    this.held.add(key);
    return { id: uri, uri: key, baseUrl: this.url, activated: '2026-11-20 11:39:15.963169', status: 'Activated' };
  }

  /** "As 500 `{"code", "name", "description"}`." */
  protected failed(error: Error): { status: number; body: JsonObject } {
    return { status: 500, body: { code: 500, name: 'Internal Server Error', description: String(error) } };
  }

  protected send(response: ServerResponse, status: number, body: JsonObject): void {
    const text = JSON.stringify(body);
    const head = [
      `HTTP/1.0 ${status} OK`,
      'Content-Type: application/json',
      `Content-Length: ${Buffer.byteLength(text)}`,
      'Server: Werkzeug/1.0.1 Python/3.8.5',
    ];
    response.socket?.end(`${head.join('\r\n')}\r\n\r\n${text}`);
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#thread.then(work);
    this.#thread = turn.catch(() => undefined);
    return turn;
  }
}
