/** Clients of a balancer: each connection is kept as long as the other side keeps it. */
import { Agent, request } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';

export interface KeptAnswer {
  readonly status: number;
  readonly text: string;
  readonly headers: IncomingHttpHeaders;
}

export class KeptClient implements Disposable {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  post(path: string, body: unknown): Promise<KeptAnswer> {
    return new Promise((resolve, reject) => {
      const content = JSON.stringify(body);
      const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(content) };
      const outgoing = request(this.#url + path, { method: 'POST', agent: this.#agent, headers });
      outgoing.on('error', reject);
      outgoing.on('response', (answer) => {
        text(answer).then(
          (said) => resolve({ status: answer.statusCode ?? 0, text: said, headers: answer.headers }),
          reject,
        );
      });
      outgoing.end(content);
    });
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }
}

/** Calls that go on while something is done. */
export class SteadyCalls {
  readonly failures: string[] = [];
  count = 0;
  #isOver = false;
  readonly #running: Promise<unknown>;

  /** @param expected result of `{ "result": … }`. @param pause milliseconds between the calls of a client. */
  constructor(url: string, path: string, expected: unknown, { clients = 10, pause = 5 } = {}) {
    this.#running = Promise.all(Array.from({ length: clients }, () => this.#call(url, path, expected, pause)));
  }

  /** @returns the calls that failed. */
  async end(): Promise<readonly string[]> {
    this.#isOver = true;
    await this.#running;
    return this.failures;
  }

  async #call(url: string, path: string, expected: unknown, pause: number): Promise<void> {
    using client = new KeptClient(url);
    while (!this.#isOver) {
      this.count++;
      try {
        const { status, text: said } = await client.post(path, {});
        const result = status === 200 ? (JSON.parse(said) as { result: unknown }).result : undefined;
        if (status !== 200 || result !== expected) this.failures.push(`${status}: ${said.slice(0, 300)}`);
      } catch (thrown) {
        this.failures.push(String(thrown));
      }
      await wait(pause);
    }
  }
}
