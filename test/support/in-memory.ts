/** Knowledge objects and engines that are nowhere but in memory, for tests of what is made of them. */
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { Endpoint } from '../../src/activation/endpoint.ts';
import { LoadedKo } from '../../src/activation/loaded-ko.ts';
import { ActivationFailure } from '../../src/engines/engine.ts';
import type { Engine, EngineHealth, EndpointPlan, Executor } from '../../src/engines/engine.ts';
import type { KoPackage, PackageFile, ShelfEntry } from '../../src/shelf/shelf.ts';
import type { Ko } from '../acceptance/support/ko.ts';

export class MemoryPackage implements KoPackage {
  readonly entry: ShelfEntry;
  readonly files: ReadonlyMap<string, PackageFile>;
  released = false;
  readonly #contents: Ko['files'];

  constructor({ naan, name, version, files }: Ko) {
    const digest = createHash('sha256').update(JSON.stringify(files)).digest('hex');
    const metadata = String(files['metadata.json']);
    this.entry = { id: { naan, name, version }, metadata, digest, etag: `"${digest}"` };
    this.files = new Map(
      Object.entries(files).map(([path, content]) => [path, { path, size: Buffer.byteLength(content) }]),
    );
    this.#contents = files;
  }

  digestOf(): undefined {
    return undefined;
  }

  read(path: string): Promise<Buffer> {
    return Promise.resolve(Buffer.from(this.#contents[path] ?? ''));
  }

  async stream(path: string): Promise<Readable> {
    return Readable.from([await this.read(path)]);
  }

  release(): void {
    this.released = true;
  }
}

export const loaded = (ko: Ko): Promise<LoadedKo> => LoadedKo.load(new MemoryPackage(ko));

/** An engine whose activations end when the test says so. */
export class ManualEngine implements Engine {
  readonly name: string;
  readonly method: 'post' | 'get';
  readonly builtIn: boolean;
  /** Ids in the order in which their activation began. */
  readonly begun: string[] = [];
  readonly disposed: string[] = [];
  readonly #open = new Map<string, PromiseWithResolvers<Executor>>();

  constructor({
    name = 'javascript',
    method = 'post',
    builtIn = true,
  }: Partial<Pick<Engine, 'name' | 'method' | 'builtIn'>> = {}) {
    this.name = name;
    this.method = method;
    this.builtIn = builtIn;
  }

  activate({ id }: EndpointPlan): Promise<Executor> {
    this.begun.push(id);
    const end = Promise.withResolvers<Executor>();
    this.#open.set(id, end);
    return end.promise;
  }

  succeed(id: string): void {
    this.#open.get(id)?.resolve({
      execute: () => Promise.resolve(JSON.stringify(id)),
      dispose: () => void this.disposed.push(id),
    });
  }

  fail(id: string, detail: string, mayPass = false): void {
    this.#open.get(id)?.reject(new ActivationFailure(detail, { mayPass }));
  }

  health(): EngineHealth {
    return { status: 'UP', details: {} };
  }

  info(): Record<string, unknown> {
    return {};
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.resolve();
  }
}

/** Every endpoint of the KO, each under its API version. */
export async function endpointsOf(
  ko: Ko,
  engine: Engine,
  prioritize: (endpoint: Endpoint) => void = () => undefined,
): Promise<Endpoint[]> {
  const it = await loaded(ko);
  return it.declared.map(({ from, entry }) => {
    const id = `${ko.naan}/${ko.name}/${from.apiVersion}${entry.path}`;
    return new Endpoint(id, { ko: it, from, entry }, engine, undefined, prioritize);
  });
}

/** As `endpointsOf`, but decided: active, or failed with that detail. */
export async function decidedEndpointsOf(ko: Ko, engine: Engine, detail?: string): Promise<Endpoint[]> {
  const endpoints = await endpointsOf(ko, engine);
  for (const endpoint of endpoints) {
    const decided = endpoint.activate();
    if (engine instanceof ManualEngine) {
      if (detail === undefined) engine.succeed(endpoint.id);
      else engine.fail(endpoint.id, detail);
    }
    await decided;
  }
  return endpoints;
}
