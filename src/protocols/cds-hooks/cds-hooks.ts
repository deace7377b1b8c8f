/** CDS Hooks 2.0: discovery, calls of services and feedback. A service is a knowledge object that brings `cds-hooks.yaml`. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Engines } from '../../engines/engine-registry.ts';
import type { Executor } from '../../engines/engine.ts';
import type { Execution } from '../../execution/execution.ts';
import { addressOf } from '../../http/address.ts';
import { requireJson, textBody } from '../../http/body.ts';
import { EXECUTION_ID_HEADER, PACKAGE_DIGEST_HEADER } from '../../http/headers.ts';
import { declare } from '../../http/methods.ts';
import { callOfRequest, type CallOfRequest, ClientGone, type MakeProtocol } from '../../http/protocol.ts';
import { aboutKo } from '../../knowledge-object/about-ko.ts';
import {
  codeError,
  malformedRequest,
  methodNotAllowed,
  notFound,
  preconditionFailed,
  ServiceError,
} from '../../lib/errors.ts';
import { escapeForMessage } from '../../lib/text.ts';
import { uptime } from '../../lib/time.ts';
import { packageDigestOf } from '../../shelf/package/package-content.ts';
import type { Database } from '../../shelf/store/database.ts';
import { answerOf, CardFault, type HookAnswer } from './cards.ts';
import { type ActiveHook, HookCatalogue } from './catalogue.ts';
import { HookClients } from './clients.ts';
import { FeedbackStore, parseFeedback } from './feedback.ts';
import { FhirReader } from './fhir-reader.ts';
import { type HookRequest, parseHookRequest } from './hook-request.ts';
import { prefetched } from './prefetch.ts';

/** Why there are no cards, where there might have been. */
export const WITHHELD_HEADER = 'kgrid-cards-withheld';

export interface CdsHooksOptions {
  readonly engines: Engines;
  readonly database: Database;
  readonly publicUrl: string | undefined;
  /** `<issuer>=<address of its key set>`; empty: who may call endpoints may call services. */
  readonly clients: readonly string[];
  /** Base addresses of FHIR servers that may be read. */
  readonly servers: readonly string[];
  /** Milliseconds in which an answer is given, where the knowledge object asks for no more. */
  readonly deadline: number;
  /** Missing data are refused with 412. */
  readonly strict: boolean;
  /** Counts answers: `cards`, `no-cards`, `failed`, or why they were withheld. */
  readonly observe: (service: string, client: string, outcome: string) => void;
}

/** Of the deadline, for the way of the answer. */
const SPARE_MS = 20;

/** An answer without cards, and why. */
class Withheld {
  readonly reason: string;

  constructor(reason: string) {
    this.reason = reason;
  }
}

export const cdsHooks =
  (options: CdsHooksOptions): MakeProtocol =>
  (execution, { gate, log: serviceLog }) => {
    const log = serviceLog.child({ part: 'cds-hooks' });
    const catalogue = new HookCatalogue(execution.activator, options.engines, log);
    const clients = options.clients.length === 0 ? undefined : new HookClients(options.clients);
    const reader = options.servers.length === 0 ? undefined : new FhirReader(options.servers);
    const feedback = new FeedbackStore(options.database);
    // Clients that prove themselves by a JWT have no login here.
    const access = clients === undefined ? 'execution' : 'public';
    const urlOf = (request: FastifyRequest, id: string, more = ''): string =>
      `${addressOf(request, options.publicUrl)}/cds-services/${id}${more}`;
    const { identity } = execution;
    const requireHook = async (request: FastifyRequest): Promise<ActiveHook> => {
      const { id = '' } = request.params as { readonly id?: string };
      const { principal, headers } = request;
      const hook = await catalogue.find(id);
      // Clients that prove themselves have no other login.
      if (hook !== undefined && clients !== undefined) return hook;
      if (hook !== undefined && identity.allows(principal, 'read', hook.ko.id)) {
        if (identity.allows(principal, 'execution', hook.ko.id)) return hook;
        throw identity.refusal(principal, headers.authorization);
      }
      throw notFound(
        `There is no CDS service ${escapeForMessage(id.slice(0, 200))}: GET /cds-services lists those that are active`,
      );
    };
    const requireClient = async (request: FastifyRequest, url: string): Promise<string | undefined> =>
      clients?.require(request.headers.authorization, url);

    const discover = async ({ principal }: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
      const seen = (await catalogue.all()).filter(({ ko }) => identity.allows(principal, 'read', ko.id));
      const services = seen.map(describe);
      void reply.header('cache-control', 'no-cache');
      return { services };
    };

    const call = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
      const hook = await requireHook(request);
      const began = uptime();
      const client = await requireClient(request, urlOf(request, hook.id));
      requireJson(request);
      const asked = parseHookRequest(textBody(request), hook.service.hook);
      const trace = gate.ids.traceOf(request.raw, request.id);
      const said = callOfRequest(request.raw, trace, execution.identity.caller(request.headers, request.principal));
      const caller = client === undefined ? said : { ...said, caller: client };
      void reply
        .header(EXECUTION_ID_HEADER, trace.executionId)
        .header(PACKAGE_DIGEST_HEADER, packageDigestOf(hook.ko.entry));
      const deadline = began + Math.max(options.deadline, hook.service.deadline ?? 0) - SPARE_MS;
      const count = (outcome: string): void => options.observe(hook.id, client ?? said.principal.name, outcome);
      try {
        const isTrusted = client !== undefined;
        const answer = await inTime(
          run({ execution, reader, hook, asked, caller, isTrusted, deadline, reply }),
          deadline,
        );
        if (!(answer instanceof Withheld)) {
          count(answer.cards.length > 0 ? 'cards' : 'no-cards');
          return answer;
        }
        count(answer.reason.split(':', 1)[0] ?? '');
        log.warn(
          {
            event: 'cards-withheld',
            service: hook.id,
            client: client ?? said.principal.name,
            reason: answer.reason,
            requestId: request.id,
          },
          `${hook.id} gave no cards: ${answer.reason}`,
        );
        if (options.strict && /-prefetch/.test(answer.reason))
          throw preconditionFailed(`The service has not the data that it needs: ${answer.reason}`);
        void reply.header(WITHHELD_HEADER, answer.reason);
        return { cards: [] };
      } catch (thrown) {
        if (!(thrown instanceof ServiceError) || thrown.status >= 500) count('failed');
        throw thrown;
      }
    };

    const take = async (request: FastifyRequest): Promise<unknown> => {
      const { id } = await requireHook(request);
      await requireClient(request, urlOf(request, id, '/feedback'));
      requireJson(request);
      await feedback.keep(id, parseFeedback(textBody(request)));
      return {};
    };

    const tell = async (request: FastifyRequest): Promise<unknown> => {
      const { id } = await requireHook(request);
      return { service: id, ...(await feedback.counts(id)) };
    };

    return {
      addRoutes(app) {
        declare(app, '/cds-services', { GET: { access: 'read', handler: discover } });
        declare(app, '/cds-services/:id', { POST: { access, handler: call } }, { refusal: onlyPost });
        declare(app, '/cds-services/:id/feedback', {
          GET: { access: 'info', handler: tell },
          POST: { access, handler: take },
        });
        app.addHook('onClose', async () => {
          catalogue[Symbol.dispose]();
          await reader?.[Symbol.asyncDispose]();
        });
      },
    };
  };

const onlyPost = (request: FastifyRequest): Promise<Error> =>
  Promise.resolve(methodNotAllowed(request.method, request.url.split('?', 1)[0] ?? '', ['POST']));

/** One entry of the discovery. */
function describe({ id, service, ko }: ActiveHook): object {
  const { title, description } = aboutKo(ko.metadata);
  const { hook, prefetch, usageRequirements } = service;
  return {
    hook,
    title: service.title ?? title,
    description: service.description ?? description ?? service.title ?? title ?? id,
    id,
    ...(Object.keys(prefetch).length > 0 && { prefetch }),
    ...(usageRequirements !== undefined && { usageRequirements }),
  };
}

interface Run {
  readonly execution: Execution;
  readonly reader: FhirReader | undefined;
  readonly hook: ActiveHook;
  readonly asked: HookRequest;
  readonly caller: CallOfRequest;
  /** The client has proved itself. */
  readonly isTrusted: boolean;
  /** Milliseconds of `uptime()`. */
  readonly deadline: number;
  readonly reply: FastifyReply;
}

/** @throws ServiceError of the code; codeError for cards that break a rule. */
async function run({
  execution,
  reader,
  hook,
  asked,
  caller,
  isTrusted,
  deadline,
  reply,
}: Run): Promise<HookAnswer | Withheld> {
  const { service, functions, endpoint, set } = hook;
  const late = AbortSignal.timeout(Math.max(1, deadline - uptime()));
  const { data, missing } = await prefetched(service, asked, reader, late);
  const [first] = missing;
  // Header values are plain ASCII.
  if (first !== undefined) return new Withheld(`${first.why}-prefetch: ${encodeURI(first.key)}`);
  const { context } = asked;
  const given = { hook: asked.hook, context, prefetch: data };
  const own = (executor: Executor, value: unknown): Promise<string> =>
    executor.execute({
      body: JSON.stringify(value),
      contentType: 'application/json',
      json: true,
      depth: 0,
      deadline,
      trace: caller.trace,
      caller: caller.caller,
      scope: NOBODY,
    });
  try {
    const text = await own(functions.input, given);
    const input: unknown = JSON.parse(text);
    if (input === null) return { cards: [] };
    const result: unknown = JSON.parse(
      await execution.calls.invoke(
        { endpoint, set },
        {
          body: text,
          text,
          contentType: 'application/json',
          json: true,
          deadline,
          ...caller,
          ...(isTrusted && { principal: undefined }),
        },
        new ClientGone(reply.raw),
      ),
    );
    const cards: unknown = JSON.parse(await own(functions.cards, { ...given, input, result }));
    return answerOf(cards, sourceOf(hook));
  } catch (thrown) {
    if (thrown instanceof CardFault)
      throw codeError(`the cards of ${hook.ko.key} break a rule of CDS Hooks: ${thrown.message}`);
    if (!(thrown instanceof ServiceError)) throw thrown;
    if (thrown.code === 'invalid-input') return new Withheld('refused-input');
    if (thrown.code === 'overloaded') return new Withheld('overloaded');
    if (thrown.code === 'execution-timeout' && uptime() >= deadline) return new Withheld('deadline');
    throw thrown;
  }
}

/** The functions around an endpoint call nobody. */
const NOBODY = {
  find: () => undefined,
  call: (id: string) => Promise.reject(malformedRequest(`${id} cannot be called from here`)),
};

/** What is not there by the deadline is withheld; the code ends by the same deadline. */
async function inTime(running: Promise<HookAnswer | Withheld>, deadline: number): Promise<HookAnswer | Withheld> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Withheld>((resolve) => {
    timer = setTimeout(() => resolve(new Withheld('deadline')), Math.max(1, deadline + SPARE_MS / 2 - uptime()));
  });
  // Where it fails later, nobody hears of it.
  running.catch(() => undefined);
  try {
    return await Promise.race([running, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** "Source": the evidence of the knowledge object, else its title. */
function sourceOf({ ko }: ActiveHook): { label: string; url?: string } {
  const { title, evidence } = aboutKo(ko.metadata);
  const [first] = evidence;
  const url = first?.sources.map((source) => /https?:\/\/\S+/.exec(source)?.[0]).find((each) => each !== undefined);
  return { label: first?.title ?? title ?? ko.key, ...(url !== undefined && { url }) };
}
