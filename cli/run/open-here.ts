/** Runs records through a knowledge object without a service of its own. */
import { activateSources, runtimesFor } from '../../src/check/activate-sources.ts';
import { ActivatorClient } from '../lib/client.ts';
import type { Context } from '../lib/context.ts';
import { usageFailure } from '../lib/exit.ts';
import { inspectAll } from '../../src/check/inspect.ts';
import { openSources } from '../lib/open-sources.ts';
import type { Terminal } from '../lib/terminal.ts';
import type { RunTarget } from './target.ts';

/** Starts an activator on this machine, which goes with the run. @throws CommandFailure. */
export async function openHere(
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
