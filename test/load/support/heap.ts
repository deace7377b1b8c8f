/** The memory that the activator really uses: its garbage is collected first, by way of V8's inspector. */
import type { OwnService } from '../../acceptance/support/service.ts';

/** For the environment of a service that is to be looked into. */
export const INSPECTED = { NODE_OPTIONS: '--inspect=127.0.0.1:0' };

interface Message {
  readonly id?: number;
  readonly result?: { readonly result?: { readonly value?: unknown } };
}

export class Heap implements Disposable {
  readonly #socket: WebSocket;
  readonly #answers = new Map<number, (message: Message) => void>();
  #sent = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener('message', ({ data }) => {
      const message = JSON.parse(String(data)) as Message;
      this.#answers.get(message.id ?? 0)?.(message);
    });
  }

  static async of(service: OwnService): Promise<Heap> {
    const [url] = /ws:\/\/\S+/.exec(service.stderr()) ?? [];
    if (url === undefined) throw new Error('The service does not tell where its inspector is');
    const socket = new WebSocket(url);
    await new Promise((done, fail) => {
      socket.addEventListener('open', done);
      socket.addEventListener('error', () => fail(new Error(`${url} does not answer`)));
    });
    return new Heap(socket);
  }

  /** Bytes in use, on the heap and beside it, after a collection. */
  async used(): Promise<number> {
    // What has a finalizer goes with the second one.
    for (let i = 0; i < 2; i++) await this.#ask('HeapProfiler.collectGarbage', {});
    const { result } = await this.#ask('Runtime.evaluate', {
      expression: '(({ heapUsed, external }) => heapUsed + external)(process.memoryUsage())',
    });
    return Number(result?.result?.value);
  }

  [Symbol.dispose](): void {
    this.#socket.close();
  }

  #ask(method: string, params: object): Promise<Message> {
    const id = ++this.#sent;
    return new Promise((resolve) => {
      this.#answers.set(id, resolve);
      this.#socket.send(JSON.stringify({ id, method, params }));
    });
  }
}
