/** A real activator for as long as a command runs: on loopback, in the dev profile, on a shelf of its own. */
import { mkdir } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pino } from 'pino';
import type { Endpoint } from '../activation/endpoint.ts';
import { type App, createApp } from '../app.ts';
import { readBuild } from '../build.ts';
import { toConfig } from '../config/config.ts';
import { readSettings } from '../config/read-settings.ts';
import type { Logger } from '../lib/log.ts';
import { userCache } from '../lib/user-cache.ts';
import { Lifecycle } from '../lifecycle.ts';
import { type Answer, readAnswer, type Sent } from './answers.ts';
import { Unavailable } from './findings.ts';
import { FailedPlaces, withPlace } from './run-examples.ts';
import { temporaryFolder } from './temporary-folder.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export interface LocalOptions {
  readonly env: Environment;
  /** Runtimes to start; those that no knowledge object needs are left alone. */
  readonly runtimes: readonly string[];
  /** 0 picks a free one. */
  readonly port: number;
  /** Further options. */
  readonly settings?: readonly string[];
  /** What the code of a knowledge object prints. */
  readonly onConsole: (ko: string, text: string) => void;
  /** What else failed than the calls of the command itself. */
  readonly onFailure?: (ko: string, text: string) => void;
  /** Puts knowledge objects on the shelf before they are activated. */
  readonly fill: (shelf: string) => Promise<void>;
}

const HOST = '127.0.0.1';

export class LocalActivator implements AsyncDisposable {
  readonly url: string;
  /** Its folder; what is put there is served after `reload`. */
  readonly shelf: string;
  readonly app: App;
  /** Where the code of calls that failed did so. */
  readonly places: FailedPlaces;
  readonly #owned: AsyncDisposableStack;

  private constructor(url: string, shelf: string, app: App, places: FailedPlaces, owned: AsyncDisposableStack) {
    this.url = url;
    this.shelf = shelf;
    this.app = app;
    this.places = places;
    this.#owned = owned;
  }

  /** Listens, and has read the shelf. @throws Unavailable where the port is taken. */
  static async start(options: LocalOptions): Promise<LocalActivator> {
    await using owned = new AsyncDisposableStack();
    const folder = owned.use(await temporaryFolder());
    const shelf = join(folder.path, 'shelf');
    await mkdir(shelf);
    await options.fill(shelf);
    const places = new FailedPlaces();
    const app = await createApp({
      config: toConfig(settingsOf(options)),
      shelf,
      build: readBuild(options.env['KGRID_BUILD_COMMIT']),
      lifecycle: new Lifecycle(),
      environment: options.env,
      cache: userCache('kgrid-activator'),
      log: authorsLog(options, places),
      lostLines: () => 0,
    });
    owned.use(app);
    owned.defer(() => app.server.server.closeAllConnections());
    await listen(app, options.port);
    const { port } = app.server.server.address() as AddressInfo;
    await app.startRuntimes();
    await app.fleet.join(app.activator, app.runtimes, { name: HOST, address: '' });
    await app.activator.start();
    return new LocalActivator(`http://${HOST}:${port}`, shelf, app, places, owned.move());
  }

  /** The endpoints of a KO, by its `<naan>/<name>/<version>`. */
  endpointsOf(key: string): readonly Endpoint[] {
    return this.app.activator.set.endpoints.filter((each) => each.ko.key === key);
  }

  async send(path: string, { method = 'GET', headers = {}, body }: Sent = {}): Promise<Answer> {
    const init = { method, headers: { accept: 'application/json', ...headers }, ...(body !== undefined && { body }) };
    return readAnswer(await fetch(this.url + path, { ...init, redirect: 'manual' }));
  }

  /** Waits until the endpoints are activated or have failed; `onProgress` hears what slow ones do. */
  async decided(endpoints: readonly Endpoint[], onProgress: (text: string) => void): Promise<void> {
    const look = setInterval(() => {
      const slow = endpoints.find((each) => each.status === 'LOADED');
      if (slow !== undefined) onProgress(`${slow.id}: ${slow.detail ?? 'is being activated'}`);
    }, PROGRESS_EVERY_MS);
    await Promise.all(endpoints.map((each) => each.settled));
    clearInterval(look);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned.disposeAsync();
  }
}

const PROGRESS_EVERY_MS = 250;

/** What an operator lets code do, an author lets it do on his own machine. */
const PERMISSIONS = /^KGRID_ALLOW_(NETWORK|PROCESSES|ADDONS|SOURCE_BUILDS)$/;

function settingsOf({ runtimes, port, env, settings = [] }: LocalOptions): Parameters<typeof toConfig>[0] {
  const started = runtimes.length === 0 ? ['none'] : runtimes;
  const options = [
    '--profile',
    'dev',
    '--host',
    HOST,
    '--port',
    String(port),
    // The inputs are the author's own.
    '--log-messages',
    // What is slow on the author's machine need not be so in service.
    '--cds-deadline',
    '30s',
    ...started.flatMap((name) => ['--runtimes', name]),
    ...settings,
  ];
  const permissions = Object.entries(env).filter(([name]) => PERMISSIONS.test(name));
  const given = readSettings(options, Object.fromEntries(permissions));
  return 'print' in given ? new Map() : given.settings;
}

async function listen(app: App, port: number): Promise<void> {
  try {
    await app.server.listen({ host: HOST, port });
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw thrown;
    throw new Unavailable(`Port ${port} is in use: choose another with --port (0 picks a free one)`, { cause: thrown });
  }
}

/** Runtimes keep the files of a knowledge object in a cache; its author knows them by their path in the package. */
const FETCHED = /\/(?:packages\/[0-9a-f]{20,}\/files|objects\/[0-9a-f]{20,}\/package)\//g;

const withoutCache = (text: string): string =>
  text.replace(/[^\s"'(]+/g, (path) => {
    const last = [...path.matchAll(FETCHED)].at(-1);
    return last === undefined ? path : path.slice(last.index + last[0].length);
  });

/** Logs what authors need: what the code prints and where calls fail. Other failures stand in the endpoint's detail. */
function authorsLog({ onConsole, onFailure }: LocalOptions, places: FailedPlaces): Logger {
  return pino(
    { level: 'info', base: null },
    {
      write: (line: string) => {
        const { console, event, code, ko, msg, requestId, place } = JSON.parse(line) as Record<string, unknown>;
        if (console === true) onConsole(String(ko), withoutCache(String(msg)));
        // What cannot be activated is told where that fails.
        if (event !== 'call-failed' || code === 'endpoint-not-active') return;
        const at = typeof place === 'string' ? place : '';
        if (!places.add(String(requestId), at)) onFailure?.(String(ko), withPlace(String(msg), at));
      },
    },
  );
}
