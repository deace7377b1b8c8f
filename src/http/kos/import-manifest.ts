/** `POST /kos/manifest` and `POST /kos/manifest-list`. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { PROBLEM_TYPE, wantsProblem } from '../errors.ts';
import { koKey } from '../../knowledge-object/id.ts';
import { bodyNotReadable, messageOf, ServiceError } from '../../lib/errors.ts';
import { inTurns } from '../../lib/fair-queue.ts';
import { STATUS_CODES } from '../../lib/http-module.ts';
import { pathOf } from '../../lib/url-path.ts';
import { withoutCredentials } from '../../lib/without-credentials.ts';
import type { ChangeAuthor } from '../../shelf/change-author.ts';
import type { ManifestOutcome, OnEntry } from '../../shelf/manifest/create-manifest-importer.ts';
import { parseManifestText } from '../../shelf/manifest/parse-manifest.ts';
import { atIdsOf, audit, authorOf } from '../access/audit.ts';
import { requireJson, textBody } from '../body.ts';
import { ERROR_HEADER } from '../headers.ts';
import type { Operation } from '../methods.ts';
import { logReplaced, replaced } from './import-zip.ts';
import type { KoParts } from './ko-context.ts';

type ManifestParts = Pick<KoParts, 'manifests' | 'events'>;
type Run = (body: unknown, author: ChangeAuthor, onEntry: OnEntry) => Promise<readonly ManifestOutcome[]>;

export function importByManifest({ manifests, events }: ManifestParts): Operation {
  return importByJson('manifest', events, (body, author, onEntry) => manifests.importPosted(body, { author, onEntry }));
}

export function importByManifestList({ manifests, events }: ManifestParts): Operation {
  return importByJson('manifest-list', events, (body, author, onEntry) =>
    manifests.importPostedList(body, { author, onEntry }),
  );
}

function importByJson(action: string, events: ManifestParts['events'], run: Run): Operation {
  return {
    access: 'shelf-write',
    handler: async (request: FastifyRequest, reply: FastifyReply) => {
      requireJson(request);
      const manifest = jsonOf(request);
      const outcomes = await run(manifest, authorOf(request), (outcome, done, total) =>
        events.tell(progress(request.id, outcome, done, total)),
      );
      const added = outcomes.flatMap(({ id }) => (id === undefined ? [] : [`${koKey(id)}/`]));
      const problems = await logged(request, outcomes);
      const changed = outcomes.flatMap(({ id, digests }) => (id && digests ? [[koKey(id), digests] as const] : []));
      for (const [key, digests] of changed) logReplaced(request, key, digests);
      audit(request, {
        action: `import ${action}`,
        subject: added.join(' ') || 'nothing',
        ...atIdsOf(outcomes.flatMap(({ id, atId }) => (id === undefined ? [] : [{ ko: koKey(id), atId }]))),
        ...replaced(changed.length === 0 ? undefined : changed.map((each) => each.join(' ')).join('; ')),
        outcome: added.length > 0 ? 'done' : 'failed',
      });
      // "None loaded (also an empty list, or an object without a list): 400 with `[]`."
      void reply.code(added.length > 0 ? 200 : 400).header('KGrid-Manifest-Errors', problems.length);
      if (added.length === 0) void reply.header(ERROR_HEADER, 'import-refused');
      return sendOutcome(request, reply, added, problems);
    },
  };
}

/** Whoever asked for it knows the import by the id of the request. */
const progress = (requestId: string, { location, id, error }: ManifestOutcome, done: number, total: number) => ({
  type: 'import',
  requestId,
  done,
  total,
  location: withoutCredentials(location),
  ...(id !== undefined && { ko: koKey(id) }),
  ...(error !== undefined && { error: error.message }),
});

/** Writes down why entries failed, so that the caller's request id leads there. */
async function logged(request: FastifyRequest, outcomes: readonly ManifestOutcome[]): Promise<ManifestProblem[]> {
  const problems = outcomes.flatMap(({ location, error }) =>
    error === undefined ? [] : [{ location, detail: error.message }],
  );
  for await (const some of inTurns(problems)) {
    for (const { location, detail } of some)
      request.log.warn({ requestId: request.id, location, cause: detail }, 'manifest entry was not imported');
  }
  return problems;
}

function jsonOf(request: FastifyRequest): unknown {
  try {
    return parseManifestText(textBody(request));
  } catch (thrown) {
    if (thrown instanceof ServiceError && thrown.code === 'import-refused')
      throw bodyNotReadable(`The manifest ${thrown.message}`);
    throw bodyNotReadable(`The body is not JSON: ${messageOf(thrown)}`, { cause: thrown });
  }
}

// What the caller of a manifest hears beside the list of what was imported.

/** An entry that was not imported. */
interface ManifestProblem {
  readonly location: string;
  readonly detail: string;
}

/** The document is for reading; the log has all. */
const MAX_PROBLEMS = 100;
const MAX_CHARACTERS = 500;

/** The list of what was imported, or, for whom `Accept` says so, a problem document (RFC 9457) with the reasons. */
function sendOutcome(
  request: FastifyRequest,
  reply: FastifyReply,
  imported: readonly string[],
  problems: readonly ManifestProblem[],
): FastifyReply {
  void reply.header('vary', 'Accept');
  if (!wantsProblem(request.headers.accept) || (problems.length === 0 && imported.length > 0))
    return reply.send(imported);
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
  return reply.type(PROBLEM_TYPE).send(Buffer.from(JSON.stringify(document)));
}

const cut = (text: string): string => (text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)}…` : text);
