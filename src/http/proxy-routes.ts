/** What external runtimes ask: to be registered, and the artifacts of what they activate. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Activator } from '../activation/activator.ts';
import type { CallTokens } from '../engines/call-token.ts';
import { PROVEN_FILES } from '../engines/external/activate-at.ts';
import type { Registration } from '../engines/external/runtime.ts';
import type { RuntimeRegistry } from '../engines/external/runtime-registry.ts';
import { MAX_URL_CHARACTERS } from '../lib/text.ts';
import type { Fleet } from '../fleet/fleet.ts';
import { binaryNotFound, bodyNotReadable, messageOf } from '../lib/errors.ts';
import { withoutCredentialsIn } from '../lib/without-credentials.ts';
import { audit, auditNothing } from './access/audit.ts';
import { addressOf } from './address.ts';
import { requireJson, textBody } from './body.ts';
import { ERROR_HEADER } from './headers.ts';
import { declare } from './methods.ts';
import { sendFile } from './send-file.ts';

export interface ProxyRoutesOptions {
  readonly activator: Activator;
  readonly runtimes: RuntimeRegistry;
  readonly publicUrl: string | undefined;
  readonly fleet: Fleet | undefined;
  /** Prove addresses of files that runtimes were given. */
  readonly tokens: Pick<CallTokens, 'proves'>;
}

export function proxyRoutes(
  app: FastifyInstance,
  { activator, runtimes, publicUrl, fleet, tokens }: ProxyRoutesOptions,
): void {
  declare(app, '/proxy/environments', {
    GET: { access: 'runtime-list', handler: () => runtimes.environments() },
    POST: {
      access: 'runtime-registration',
      handler: (request, reply) => {
        requireJson(request);
        const body = objectOf(request);
        const problem = isText(body['engine']) ? (isUrl(body['url']) ? undefined : 'its url') : 'engine';
        if (problem !== undefined) {
          audit(request, { action: 'register', subject: 'a runtime', outcome: 'failed' });
          void reply.code(400).header(ERROR_HEADER, 'malformed-request');
          return reply.send({ ...body, status: `Not registered: Runtime failed to specify ${problem}` });
        }
        const registration = body as Registration;
        const status = runtimes.register(registration, addressOf(request, publicUrl));
        // Heartbeats change nothing, and thousands of lines a day would hide what did.
        if (status === 'new' || body['forceUpdate'] === true)
          audit(request, {
            action: 'register',
            subject: `${registration.engine} ${registration.url}`,
            outcome: 'done',
          });
        else auditNothing(request);
        return { ...body, status };
      },
    },
  });
  declare(app, '/proxy/environments/:engine', {
    GET: {
      access: 'runtime-list',
      handler: (request) => runtimes.environment((request.params as { engine: string }).engine),
    },
  });
  for (const [base, access] of [
    ['', 'read'],
    // Who has the proof was given the address by this service.
    [`${PROVEN_FILES}/:proof`, 'public'],
  ] as const) {
    const requireProof = (request: FastifyRequest, path: string, missing: Error): void => {
      const { proof } = request.params as { readonly proof?: string };
      if (access === 'public' ? !tokens.proves(path, proof ?? '') : !mayRead(request)) throw missing;
    };
    declare(app, `${base}/proxy/artifacts/:naan/:name/:version/*`, {
      GET: {
        access,
        handler: async (request, reply) => {
          const { naan = '', name = '', version = '', '*': path = '' } = request.params as Record<string, string>;
          const key = `${naan}/${name}/${version}`;
          requireProof(request, `/proxy/artifacts/${key}/`, binaryNotFound(key, path));
          const ko = activator.loadedKo(key);
          if (ko === undefined) throw binaryNotFound(key, path);
          ko.retain();
          reply.raw.once('close', () => ko.release());
          const pkg = await ko.open();
          if (!pkg.files.has(path)) throw binaryNotFound(key, path);
          return sendFile(request, reply, pkg, path);
        },
      },
    });
    // The activator that a runtime asks may not have come to the package that another one activates there.
    declare(app, `${base}/proxy/packages/:digest/:naan/:name/:version/*`, {
      GET: {
        access,
        handler: async (request, reply) => {
          const params = request.params as Record<string, string>;
          const { digest = '', naan = '', name = '', version = '', '*': path = '' } = params;
          const key = `${naan}/${name}/${version}`;
          requireProof(request, `/proxy/packages/${digest}/${key}/`, binaryNotFound(key, path));
          const ko = activator.loadedKo(key);
          if (ko?.entry.digest === digest) {
            ko.retain();
            reply.raw.once('close', () => ko.release());
            const pkg = await ko.open();
            if (pkg.files.has(path)) return sendFile(request, reply, pkg, path);
          }
          const found = await fleet?.openActive({ naan, name, version }, digest);
          if (found?.files.has(path) !== true) {
            found?.release();
            throw binaryNotFound(key, path);
          }
          reply.raw.once('close', () => found.release());
          return sendFile(request, reply, found, path);
        },
      },
    });
  }
}

/** Those that stand in the path. */
function mayRead({ principal, params }: FastifyRequest): boolean {
  const { naan = '', name = '', version = '' } = params as Record<string, string>;
  return principal.grants.allow('read', { naan, name, version });
}

/** Without the credentials in addresses: runtimes are called without a login, so nobody needs to know one. */
function objectOf(request: FastifyRequest): Record<string, unknown> {
  try {
    const value: unknown = withoutCredentialsIn(JSON.parse(textBody(request)) as unknown);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch (thrown) {
    throw bodyNotReadable(`The body is not JSON: ${messageOf(thrown)}`, { cause: thrown });
  }
  throw bodyNotReadable('The body must be a JSON object with the engine and the url of the runtime');
}

const isText = (value: unknown): boolean => typeof value === 'string' && value !== '';
const isUrl = (value: unknown): boolean =>
  typeof value === 'string' && value.length <= MAX_URL_CHARACTERS && /^https?:$/.test(URL.parse(value)?.protocol ?? '');
