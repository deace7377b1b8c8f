/** The routes by which an activator, or an operator, steers the runtime. */
import type { Activations } from '../activation/activations.ts';
import { parseDescriptor } from '../activation/descriptor.ts';
import type { EndpointAnswer, Endpoints } from '../activation/endpoints.ts';
import type { Registration, RuntimeIdentity } from '../activator/registration.ts';
import type { KoPools } from '../../../src/engines/supervisor/ko-pools.ts';
import { malformedRequest, messageOf } from '../../../src/lib/errors.ts';
import { isInProcessing } from '../lib/errors.ts';
import type { OpenEngine } from '../engines.ts';
import type { Log } from '../lib/log.ts';
import { readJson } from './body.ts';
import { describeEndpoint, type Handler } from './server.ts';

export interface ControlParts {
  readonly activations: Activations<EndpointAnswer>;
  readonly endpoints: Endpoints;
  readonly pool: KoPools;
  readonly identity: RuntimeIdentity;
  /** Undefined where packages are fetched with a knowledge object only. */
  readonly fetchDependencies: OpenEngine['fetchDependencies'];
  readonly log: Log;
  readonly registration: Registration;
}

const maxBodyBytes = 5_000_000;

/** By `METHOD /path`. */
export const controlRoutes = (parts: ControlParts): Record<string, Handler> => ({
  'GET /info': () => ({
    ...parts.identity,
    status: 'up',
    endpoints: parts.endpoints.all.length,
    workers: parts.pool.workerCount,
  }),
  'GET /endpoints': () => parts.endpoints.all.map(describeEndpoint),
  'GET /register': () => parts.registration.register(true),
  'POST /endpoints': activate(parts),
  ...(parts.fetchDependencies && { 'POST /dependencies': fetchAhead(parts.fetchDependencies) }),
});

const fetchAhead =
  (fetch: NonNullable<ControlParts['fetchDependencies']>): Handler =>
  async (request) => {
    const dependencies = parseDependencies(await readJson(request, maxBodyBytes));
    await fetch(dependencies);
    return { status: 'Dependencies are in the cache of the installer', dependencies };
  };

const activate =
  ({ activations, identity, log }: ControlParts): Handler =>
  async (request) => {
    const descriptor = parseDescriptor(await readJson(request, maxBodyBytes), identity.engine);
    const { uri } = descriptor;
    try {
      const answer = await activations.activate(descriptor);
      log.info('activated', { uri });
      return answer;
    } catch (error) {
      log[isInProcessing(error) ? 'debug' : 'warn']('not activated', { uri, reason: messageOf(error) });
      throw error;
    }
  };

/** Answers `DELETE /endpoints/{uri}`. */
export const deactivate =
  ({ activations, endpoints, log }: Pick<ControlParts, 'activations' | 'endpoints' | 'log'>) =>
  (uri: string): object => {
    activations.forget(uri);
    const wasActive = endpoints.deactivate(uri);
    if (wasActive) log.info('deactivated', { uri });
    return { id: uri, uri, status: wasActive ? 'Deactivated' : 'Not active' };
  };

/** `{"name": "range", …}`, also below the key `dependencies`. @throws malformedRequest. */
function parseDependencies(body: unknown): Record<string, string> {
  const outer = body as { readonly dependencies?: unknown } | null;
  const wanted: unknown = outer?.dependencies ?? outer;
  const fits =
    typeof wanted === 'object' && wanted !== null && Object.values(wanted).every((range) => typeof range === 'string');
  if (!fits || Array.isArray(wanted)) throw malformedRequest('The body must be {"<package>": "<version range>", …}');
  return wanted as Record<string, string>;
}
