/** An index of packages for pip, with one wheel: `greets` 1.0. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { ZipFile } from 'yazl';

const WHEEL = 'greets-1.0-py3-none-any.whl';

export class PackageIndex implements AsyncDisposable {
  /** Paths that were asked for. */
  readonly requests: string[];
  readonly #server: Server;

  private constructor(server: Server, requests: string[]) {
    this.#server = server;
    this.requests = requests;
  }

  static async start(port = 0): Promise<PackageIndex> {
    const bytes = await wheel();
    const requests: string[] = [];
    const server = createServer(({ url = '' }, response) => {
      requests.push(url);
      if (url === '/simple/greets/') {
        response.writeHead(200, { 'content-type': 'text/html' }).end(`<a href="/${WHEEL}">${WHEEL}</a>`);
      } else if (url === `/${WHEEL}`) response.end(bytes);
      else response.writeHead(404).end();
    });
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return new PackageIndex(server, requests);
  }

  /** Settings that make pip use it alone. */
  get settings(): Record<string, string> {
    const { port } = this.#server.address() as AddressInfo;
    return { PIP_CONFIG_FILE: '/dev/null', PIP_INDEX_URL: `http://127.0.0.1:${port}/simple`, PIP_RETRIES: '1' };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#server.listening) return;
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

async function wheel(): Promise<Buffer> {
  const zip = new ZipFile();
  const files = {
    'greets.py': 'def greet(name):\n    return f"Hello {name}"\n',
    'greets-1.0.dist-info/METADATA': 'Metadata-Version: 2.1\nName: greets\nVersion: 1.0\n',
    'greets-1.0.dist-info/WHEEL': 'Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n',
    'greets-1.0.dist-info/RECORD': '',
  };
  for (const [path, text] of Object.entries(files)) zip.addBuffer(Buffer.from(text), path);
  zip.end();
  return buffer(zip.outputStream);
}
