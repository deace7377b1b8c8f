/** Activates an endpoint at one external runtime: `POST {runtime}/endpoints`, repeated while it is in processing. */
import { setTimeout as wait } from 'node:timers/promises';
import { Backoff } from '../../lib/backoff.ts';
import { cutWords, MAX_URL_CHARACTERS, oneLine, withoutEndSlashes, withoutStartSlashes } from '../../lib/text.ts';
import { uptime } from '../../lib/time.ts';
import { withoutCredentials } from '../../lib/without-credentials.ts';
import type { ActivationContext, EndpointPlan } from '../engine.ts';
import type { CallTokens } from '../call-token.ts';
import { objectOf } from './answers.ts';
import type { ExternalOptions } from './runtime-engine.ts';
import { RuntimeUnreachable } from './runtime-connections.ts';
import type { Runtime } from './runtime.ts';

/** A runtime registers before it listens, or while its port is still taken: it gets this long from then on to come up. */
const STARTUP_TIMEOUT_MS = 15_000;
/** What stands before a proof in the address of files. */
export const PROVEN_FILES = '/proxy/files';
const MAX_ANSWER_BYTES = 1024 * 1024;
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 3000;

export interface ActivatedAt {
  /** Under which the endpoint can be called. */
  readonly url: string;
  /** It takes many calls in one request; see `call-batches.ts`. */
  readonly batch: boolean;
}

/** Gives where the endpoint can be called. @throws Error with the runtime's own words. */
export function activateAt(
  runtime: Runtime,
  plan: EndpointPlan,
  context: ActivationContext,
  options: ExternalOptions,
): Promise<ActivatedAt> {
  const make = (): Promise<ActivatedAt> => activateHere(runtime, plan, context, options);
  return options.sharing?.()?.activate(runtime, plan, make) ?? make();
}

async function activateHere(
  runtime: Runtime,
  plan: EndpointPlan,
  context: ActivationContext,
  options: ExternalOptions,
): Promise<ActivatedAt> {
  const began = uptime();
  const artifacts = options.sharing?.()?.artifactsOf(plan) ?? artifactsOf(plan);
  const proven = options.areFilesClosed === true ? provenPath(artifacts, options.tokens) : artifacts;
  const body = JSON.stringify(requestOf(plan, runtime.activator + proven));
  const backoff = new Backoff(FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
  const ends = AbortSignal.any([context.signal, options.stopped]);
  for (;;) {
    const left = options.activationTimeout - (uptime() - began);
    if (left <= 0)
      throw new Error(
        `the ${runtime.engine} runtime did not activate it within ${options.activationTimeout / 1000} s (--activation-timeout)`,
      );
    try {
      await runtime.confirm(left);
      const answer = await runtime.request(`${runtime.url}/endpoints`, {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/json', accept: 'application/json' },
        timeout: left,
        limit: MAX_ANSWER_BYTES,
        signal: context.signal,
      });
      runtime.up = true;
      const said = objectOf(answer.body);
      if (answer.status < 300 && isActivation(said)) return targetOf(runtime, said, plan);
      const words =
        wordsOf(said ?? {}) ?? `it answered ${answer.status}${answer.status < 300 ? ' without an endpoint' : ''}`;
      if (answer.status !== 503) throw new Error(`the ${runtime.engine} runtime says: ${words}`);
      context.progress(words);
    } catch (thrown) {
      if (!(thrown instanceof RuntimeUnreachable)) throw thrown;
      if (runtime.closed || options.stopped.aborted || uptime() - runtime.seen > STARTUP_TIMEOUT_MS) {
        runtime.lose();
        throw thrown;
      }
    }
    await wait(backoff.next(), undefined, { signal: ends });
  }
}

const artifactsOf = ({ ko: { naan, name, version } }: EndpointPlan): string =>
  `/proxy/artifacts/${naan}/${name}/${version}/`;

/** The whole path stands behind the proof: runtimes take the place of a package from what follows `/proxy/artifacts/`. */
const provenPath = (path: string, tokens: CallTokens): string => `${PROVEN_FILES}/${tokens.proofOf(path)}${path}`;

/** `artifact` always a list, `entry` and `function` always present, `baseUrl` always with a slash at its end, `timeout` in milliseconds. */
function requestOf(plan: EndpointPlan, baseUrl: string): Record<string, unknown> {
  return {
    ...plan.descriptor,
    ...plan.installs,
    uri: plan.id,
    baseUrl,
    artifact: plan.artifacts,
    entry: plan.entry,
    function: plan.function ?? '',
    engine: plan.engine,
    checksum: plan.checksum,
    ...(plan.options.timeout !== undefined && { timeout: plan.options.timeout }),
  };
}

/** "The endpoint is then at `POST {baseUrl or runtime url}/{uri}`." */
function targetOf(runtime: Runtime, said: Record<string, unknown>, plan: EndpointPlan): ActivatedAt {
  const base = withoutEndSlashes(textOf(said['baseUrl']) ?? runtime.url);
  const uri = withoutStartSlashes(textOf(said['uri']) ?? plan.id);
  if (base.length + uri.length > MAX_URL_CHARACTERS || !/^https?:\/\//.test(base) || !URL.canParse(`${base}/${uri}`))
    throw new Error(
      `the ${runtime.engine} runtime answered with an address that is none: ${cutWords(`${base}/${uri}`)}`,
    );
  return { url: `${base}/${uri}`, batch: said['batch'] === true };
}

/** It names the endpoint, or at least tells of no problem. */
const isActivation = (said: Record<string, unknown> | undefined): said is Record<string, unknown> =>
  said !== undefined &&
  (textOf(said['uri']) !== undefined || (textOf(said['description']) ?? textOf(said['error'])) === undefined);

/** What it says of a failure or of its progress, as the one sentence that a `detail` is. */
function wordsOf(said: Record<string, unknown>): string | undefined {
  const words = [said['description'], said['status'], said['error']].map(textOf).find((each) => each !== undefined);
  return words === undefined ? undefined : oneLine(words);
}

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? withoutCredentials(value) : undefined;
