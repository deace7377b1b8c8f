/** What the caller of a manifest hears beside the list of what was imported. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import Negotiator from 'negotiator';
import { STATUS_CODES } from '../../lib/http-module.ts';
import { pathOf } from '../../lib/url-path.ts';

/** An entry that was not imported. */
export interface ManifestProblem {
  readonly location: string;
  readonly detail: string;
}

const PROBLEM = 'application/problem+json';
/** The document is for reading; the log has all. */
const MAX_PROBLEMS = 100;
const MAX_CHARACTERS = 500;

/** The list of what was imported, or, for whom `Accept` says so, a problem document (RFC 9457) with the reasons. */
export function sendOutcome(
  request: FastifyRequest,
  reply: FastifyReply,
  imported: readonly string[],
  problems: readonly ManifestProblem[],
): FastifyReply {
  void reply.header('vary', 'Accept');
  const wanted = new Negotiator(request).mediaType(['application/json', PROBLEM]);
  if (wanted !== PROBLEM || (problems.length === 0 && imported.length > 0)) return reply.send(imported);
  const all = imported.length + problems.length;
  const document = {
    type: 'about:blank',
    title: STATUS_CODES[reply.statusCode],
    status: reply.statusCode,
    detail:
      all === 0 ? 'The manifest lists no knowledge objects' : `${problems.length} of ${all} entries were not imported`,
    instance: pathOf(request.url),
    requestId: request.id,
    imported,
    errors: problems
      .slice(0, MAX_PROBLEMS)
      .map(({ location, detail }) => ({ location: cut(location), detail: cut(detail) })),
    ...(problems.length > MAX_PROBLEMS ? { more: problems.length - MAX_PROBLEMS } : {}),
  };
  return reply.type(PROBLEM).send(Buffer.from(JSON.stringify(document)));
}

const cut = (text: string): string => (text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)}…` : text);
