/** The runtimes that come with the service, and the private listener on which they reach it. */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Config } from './config/config.ts';
import { SECRET_HEADER } from './engines/remote/runtime.ts';
import type { RuntimeRegistry } from './engines/remote/runtime-registry.ts';
import { workerKit } from './engines/table.ts';
import { startOwnRuntimes } from './engines/remote/start-own-runtimes.ts';
import type { PrivateListener } from './http/private-listener.ts';
import { disposeAll } from './lib/dispose.ts';
import { sameSecret } from './lib/same-secret.ts';
import type { Logger } from './lib/log.ts';

export interface OwnRuntimesOptions {
  /** Opens the listener to those that may enter. */
  readonly listen: (isAllowed: (request: IncomingMessage) => boolean) => Promise<PrivateListener>;
  readonly config: Config;
  readonly registry: RuntimeRegistry;
  /** Where they keep what they fetched and installed. */
  readonly cache: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Hears of the engines whose runtime cannot run. */
  readonly onAbsent: (engine: string) => void;
  readonly log: Logger;
}

export class OwnRuntimes implements AsyncDisposable {
  /** They alone know it, for as long as this process runs. */
  readonly secret = randomBytes(32).toString('base64url');
  #listener: PrivateListener | undefined;
  #started: Promise<AsyncDisposable[]> = Promise.resolve([]);

  /** Whether one of them sent the request. */
  sent(request: IncomingMessage): boolean {
    return this.#listener?.hasReceived(request) === true;
  }

  /** Resolves before they are there. */
  async start({ config, listen, ...options }: OwnRuntimesOptions): Promise<void> {
    const kits = await Promise.all(config.runtimes.map(async (name) => [name, await workerKit(name)] as const));
    const names = kits.flatMap(([name, kit]) => (kit === undefined ? [name] : []));
    if (names.length === 0) return;
    const { secret } = this;
    const isSecret = sameSecret(secret);
    this.#listener = await listen(({ headers }) => isSecret(headers[SECRET_HEADER]));
    this.#started = startOwnRuntimes({
      ...options,
      names,
      secret,
      address: this.#listener.url,
      sourceBuilds: config.sourceBuilds,
      callTimeout: config.limits.runtime,
      maxResult: config.limits.result,
      maxBody: config.limits.body,
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await using owned = new AsyncDisposableStack();
    owned.use(this.#listener);
    owned.defer(async () => disposeAll(await this.#started));
  }
}
