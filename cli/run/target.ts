/** Where records are run: an activator that is there, or one that is started for a knowledge object. */
import type { ActivatorClient } from '../lib/client.ts';
import type { Context } from '../lib/context.ts';
import { usageFailure } from '../lib/exit.ts';
import { remoteActivator } from '../lib/remote.ts';
import type { RemoteOptions } from '../lib/remote.ts';
import type { Terminal } from '../lib/terminal.ts';
import { addressOf } from './endpoint.ts';
import type { RunOptions } from './settings.ts';

export interface RunTarget extends AsyncDisposable {
  readonly client: ActivatorClient;
  /** Path of the endpoint. */
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
    // All that reads knowledge objects, which a run at an activator does without.
    const { openHere } = await import('./open-here.ts');
    return openHere(context, terminal, path, options.ko, options.with);
  }
  if (options.with.length > 0) throw usageFailure('--with goes with --ko: an activator has what it calls');
  const client = remoteActivator(url === undefined ? options : { ...options, url }, context.env, terminal);
  return { client, path, [Symbol.asyncDispose]: () => Promise.resolve() };
}
