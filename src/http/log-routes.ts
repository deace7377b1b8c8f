/** What knowledge objects print, and how much the service logs. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Activator } from '../activation/activator.ts';
import type { ConsoleLines } from '../engines/console-lines.ts';
import { koKey } from '../knowledge-object/id.ts';
import { bodyNotReadable, malformedRequest, messageOf, notFound } from '../lib/errors.ts';
import type { LogLevel, LogLevels } from '../lib/log-levels.ts';
import { escapeSteering } from '../lib/log.ts';
import { escapeForMessage } from '../lib/text.ts';
import type { Shelf } from '../shelf/shelf.ts';
import { audit } from './access/audit.ts';
import { requireJson, textBody } from './body.ts';
import { idOf, requireKo } from './kos/ko-context.ts';
import { numberIn, textIn } from './listings/list-query.ts';
import { declare } from './methods.ts';

/** Lines of an answer. */
const DEFAULT_LIMIT = 200;
const MAX_LIMIT = 1000;
const CONSOLE_LEVELS = ['debug', 'info', 'warn', 'error'] as const;

export interface LogRouteOptions {
  readonly activator: Activator;
  readonly shelf: Shelf;
  readonly consoles: ConsoleLines;
  readonly levels: LogLevels;
}

export function logRoutes(app: FastifyInstance, { activator, shelf, consoles, levels }: LogRouteOptions): void {
  const readConsole = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const id = idOf(request);
    const key = koKey(id);
    void reply.header('cache-control', 'no-store').type('application/json; charset=utf-8');
    const query = {
      limit: numberIn(request, 'limit', MAX_LIMIT) ?? DEFAULT_LIMIT,
      after: numberIn(request, 'after', Number.MAX_SAFE_INTEGER),
      level: levelIn(request),
    };
    // A call that runs on after its knowledge object has gone may still print.
    if (!activator.set.ofName(id).some(({ ko }) => ko.key === key)) await requireKo(shelf, id);
    const found = consoles.read(key, query);
    const { lines, lost } = found ?? { lines: [], lost: 0 };
    const shown = lines.map(({ time, ...line }) => ({ ...line, time: new Date(time).toISOString() }));
    // Whoever reads this at a terminal must not be steered by code nobody vetted.
    return escapeSteering(JSON.stringify({ knowledgeObject: key, lines: shown, lost }));
  };
  declare(app, '/actuator/logs/:naan/:name/:version', { GET: { access: 'ko-details', handler: readConsole } });

  const readAll = (_request: FastifyRequest, reply: FastifyReply): unknown => {
    void reply.header('cache-control', 'no-store');
    const loggers = [ROOT, ...levels.parts].map((name) => [name, levelsOf(levels, name)]);
    return { levels: [...WORDS.keys()], loggers: Object.fromEntries(loggers) as object };
  };
  declare(app, '/actuator/loggers', { GET: { access: 'info', handler: readAll } });

  const readOne = (request: FastifyRequest, reply: FastifyReply): unknown => {
    void reply.header('cache-control', 'no-store');
    return levelsOf(levels, nameIn(request, levels));
  };
  const change = (request: FastifyRequest, reply: FastifyReply): unknown => {
    const name = nameIn(request, levels);
    const level = wantedLevel(request);
    if (name === ROOT && level === undefined)
      throw malformedRequest(`${ROOT} has a level: configuredLevel must be one of ${[...WORDS.keys()].join(', ')}`);
    // Before the log may fall silent.
    audit(request, { action: 'log-level', subject: `${name} ${level ?? 'as all'}`, outcome: 'done' });
    if (name !== ROOT) levels.setLevelOf(name, level);
    else if (level !== undefined) levels.level = level;
    return reply.code(204).send();
  };
  declare(app, '/actuator/loggers/:logger', {
    GET: { access: 'info', handler: readOne },
    POST: { access: 'log-level', handler: change },
  });
}

/** In the words of Spring's actuator. */
const ROOT = 'ROOT';
const WORDS: ReadonlyMap<string, LogLevel> = new Map([
  ['OFF', 'silent'],
  ['ERROR', 'error'],
  ['WARN', 'warn'],
  ['INFO', 'info'],
  ['DEBUG', 'debug'],
]);

const wordOf = (level: LogLevel): string => [...WORDS].find(([, each]) => each === level)?.[0] ?? level.toUpperCase();

function levelsOf(levels: LogLevels, name: string): object {
  const configured = name === ROOT ? levels.level : levels.ownLevelOf(name);
  const effective = name === ROOT ? levels.level : levels.levelOf(name);
  return {
    ...(configured !== undefined && { configuredLevel: wordOf(configured) }),
    effectiveLevel: wordOf(effective),
  };
}

/** @throws notFound. */
function nameIn(request: FastifyRequest, levels: LogLevels): string {
  const { logger = '' } = request.params as { readonly logger?: string };
  if (logger === ROOT || levels.parts.includes(logger)) return logger;
  throw notFound(`There is no logger ${escapeForMessage(logger)}: there are ${[ROOT, ...levels.parts].join(', ')}`);
}

/** Undefined for null, which takes a level of its own away. @throws bodyNotReadable; malformedRequest; unsupportedMediaType. */
function wantedLevel(request: FastifyRequest): LogLevel | undefined {
  requireJson(request);
  let body: unknown;
  try {
    body = JSON.parse(textBody(request));
  } catch (thrown) {
    throw bodyNotReadable(`The body is not JSON: ${messageOf(thrown)}`, { cause: thrown });
  }
  const said = typeof body === 'object' && body !== null ? body : {};
  const wanted = 'configuredLevel' in said ? said.configuredLevel : undefined;
  if (wanted === null) return undefined;
  const level = typeof wanted === 'string' ? WORDS.get(wanted.toUpperCase()) : undefined;
  if (level === undefined)
    throw malformedRequest(
      `The body must be {"configuredLevel": …} with one of ${[...WORDS.keys()].join(', ')}, or null for that of ${ROOT}`,
    );
  return level;
}

/** @throws malformedRequest. */
function levelIn(request: FastifyRequest): (typeof CONSOLE_LEVELS)[number] | undefined {
  const said = textIn(request, 'level');
  const level = CONSOLE_LEVELS.find((each) => each === said?.toLowerCase());
  if (said !== undefined && level === undefined)
    throw malformedRequest(`level must be one of ${CONSOLE_LEVELS.join(', ')}`);
  return level;
}
