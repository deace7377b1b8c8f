/** A package registry on the loopback address, with packages made on the spot. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { temporaryFolder } from './runtime.ts';

interface Published {
  readonly manifest: Readonly<Record<string, unknown>>;
  readonly tarball: Buffer;
}

export class TestRegistry implements AsyncDisposable {
  readonly requests: string[] = [];
  /** Holds back tarballs until it resolves. */
  gate: Promise<unknown> = Promise.resolve();
  readonly #packages = new Map<string, Map<string, Published>>();
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(port = 0): Promise<TestRegistry> {
    const server = createServer((request, response) => {
      const path = (request.url ?? '').slice(1);
      registry.requests.push(path);
      void registry.#answer(path).then((body) => {
        response.writeHead(body === undefined ? 404 : 200).end(body ?? '{"error": "not_found"}');
      });
    });
    const registry = new TestRegistry(server);
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return registry;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  /** Settings that make a runtime's npm use this registry. */
  get settings(): Record<string, string> {
    return { npm_config_registry: this.url, npm_config_fetch_retries: '0' };
  }

  async publish(name: string, version: string, code: string, more: object = {}): Promise<void> {
    const manifest = { name, version, main: 'index.js', ...more };
    const tarball = await packed(manifest, code);
    const versions = this.#packages.get(name) ?? new Map<string, Published>();
    this.#packages.set(name, versions.set(version, { manifest, tarball }));
  }

  /** A lock file that asks for this very version. `from`: where its author fetched it. */
  lock(name: string, version: string, from = this.#tarballUrl(name, version)): string {
    const { tarball } = this.#packages.get(name)?.get(version) ?? { tarball: Buffer.alloc(0) };
    const packages = {
      '': { dependencies: { [name]: '*' } },
      [`node_modules/${name}`]: { version, resolved: from, integrity: integrity(tarball) },
    };
    return JSON.stringify({ name: 'ko', lockfileVersion: 3, requires: true, packages });
  }

  #tarballUrl(name: string, version: string): string {
    return `${this.url}${name}/-/${version}.tgz`;
  }

  async #answer(path: string): Promise<Buffer | string | undefined> {
    const [name = '', , file] = path.split('/');
    const versions = this.#packages.get(name);
    if (!versions) return undefined;
    if (file !== undefined) {
      await this.gate;
      return versions.get(file.replace('.tgz', ''))?.tarball;
    }
    const described = [...versions].map(([version, { manifest, tarball }]) => [
      version,
      { ...manifest, dist: { tarball: this.#tarballUrl(name, version), integrity: integrity(tarball) } },
    ]);
    const latest = [...versions.keys()].at(-1);
    return JSON.stringify({ name, 'dist-tags': { latest }, versions: Object.fromEntries(described) as unknown });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** A package as npm packs it. */
export async function packed(manifest: Readonly<Record<string, unknown>>, code: string): Promise<Buffer> {
  const folder = await temporaryFolder();
  try {
    await mkdir(join(folder, 'package'));
    await writeFile(join(folder, 'package/package.json'), JSON.stringify(manifest));
    await writeFile(join(folder, 'package/index.js'), code);
    execFileSync('tar', ['-czf', 'package.tgz', 'package'], { cwd: folder });
    return await readFile(join(folder, 'package.tgz'));
  } finally {
    await rm(folder, { recursive: true });
  }
}

const integrity = (bytes: Buffer): string => `sha512-${createHash('sha512').update(bytes).digest('base64')}`;
