/** Where records are run: an activator that is there, or one that is started for a knowledge object. */
import { activateSources, runtimesFor } from '../lib/activate-sources.ts';
import { ActivatorClient } from '../lib/client.ts';
import type { Context } from '../lib/context.ts';
import { usageFailure } from '../lib/exit.ts';
import { inspectAll } from '../lib/inspect.ts';
import { openSources } from '../lib/ko-source.ts';
import { remoteActivator } from '../lib/remote.ts';
import type { RemoteOptions } from '../lib/remote.ts';
import type { Terminal } from '../lib/terminal.ts';
import { addressOf } from './endpoint.ts';
import type { RunOptions } from './settings.ts';

export interface RunTarget extends AsyncDisposable {
  readonly client: ActivatorClient;
  /** Of the endpoint. */
  readonly path: string;
}

/** @throws CommandFailure. */
export async function openTarget(
  context: Context,
  terminal: Terminal,
  named: string,
  options: RunOptions & RemoteOptions,
): Promise<RunTarget> {
  const { url, path } = addressOf(named);
  if (options.ko !== undefined) {
    if (url !== undefined || options.url !== undefined)
      throw usageFailure('--ko runs it here: name the endpoint without an address, and leave out --url');
    return openHere(context, terminal, path, options.ko, options.with);
  }
  if (options.with.length > 0) throw usageFailure('--with goes with --ko: an activator has what it calls');
  const client = remoteActivator(url === undefined ? options : { ...options, url }, context.env, terminal);
  return { client, path, [Symbol.asyncDispose]: () => Promise.resolve() };
}

/** Starts an activator on this machine, which goes with the run. */
async function openHere(
  { env }: Context,
  terminal: Terminal,
  path: string,
  ko: string,
  others: readonly string[],
): Promise<RunTarget> {
  await using owned = new AsyncDisposableStack();
  const sources = owned.use(await openSources([ko, ...others], terminal));
  const all = await inspectAll(sources);
  const [first] = all;
  const problem = all.flatMap(({ source, findings }) =>
    findings.filter(({ severity }) => severity === 'problem').map(({ message }) => `${source.label}: ${message}`),
  )[0];
  if (problem !== undefined || first?.ko === undefined)
    throw usageFailure(`${problem ?? `${ko} holds no knowledge object`} ("kgrid check" says more)`);
  const activator = owned.use(
    await activateSources(all, { env, terminal, runtimes: runtimesFor(all), showConsole: false }),
  );
  const endpoints = activator.endpointsOf(first.ko.key);
  const found = endpoints.find(({ id }) => `/${id}` === path || id.endsWith(path));
  const ids = endpoints.map(({ id }) => id).join(', ');
  if (found === undefined) throw usageFailure(`${ko} has no endpoint ${path}: it has ${ids || 'none'}`);
  if (found.status !== 'ACTIVATED') throw usageFailure(`${found.id} does not run: ${found.detail ?? found.status}`);
  const stack = owned.move();
  return {
    client: new ActivatorClient(activator.url),
    path: `/${found.id}`,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}
