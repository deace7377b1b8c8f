/** The Activation API: "all GET; all respond 303 redirecting to `/endpoints`". A POST does the same. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Activator } from '../activation/activator.ts';
import type { ChangeOutcome } from '../activation/selection.ts';
import { malformedRequest } from '../lib/errors.ts';
import type { ChangeAuthor } from '../shelf/change-author.ts';
import { audit, auditedActivation, authorOf } from './access/audit.ts';
import { prefixOf } from './address.ts';
import { askedVersion } from './headers.ts';
import { declare } from './methods.ts';

interface Named {
  readonly naan?: string;
  readonly name?: string;
  readonly version?: string;
  readonly engine?: string;
}

export function activationRoutes(app: FastifyInstance, activator: Activator): void {
  const act = (
    action: 'refresh' | 'reload',
    change: (named: Named, author: ChangeAuthor) => Promise<ChangeOutcome>,
  ) => {
    const handler = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
      const named = request.params as Named;
      const v = askedVersion(request);
      const whole = { ...named, ...(named.version === undefined && v !== undefined ? { version: v } : {}) };
      const subject = Object.values(whole).join('/') || 'all';
      let outcome: ChangeOutcome;
      try {
        outcome = await change(whole, authorOf(request));
      } catch (thrown) {
        audit(request, { action, subject, outcome: 'failed' });
        throw thrown;
      }
      audit(request, { action, subject, ...auditedActivation(outcome, whole.name !== undefined) });
      return reply
        .code(303)
        .header('location', `${prefixOf(request)}/endpoints`)
        .send();
    };
    const operation = { access: 'activation' as const, handler };
    // "`HEAD` on these paths is 405: it must not act."
    return { GET: { ...operation, head: false }, POST: operation };
  };
  const refreshKo = act('refresh', ({ naan = '', name = '', version }, author) =>
    activator.refresh(naan, name, version, author),
  );
  const reloadKo = act('reload', ({ naan = '', name = '', version }, author) =>
    activator.reload(naan, name, version, author),
  );
  const incomplete = act('reload', ({ naan = '' }) =>
    Promise.reject(
      malformedRequest(`reload/${naan} names no knowledge object: use reload/<naan>/<name>/<version> or reload alone`),
    ),
  );

  for (const base of ['/actuator/activation', '/actuator']) {
    declare(
      app,
      `${base}/refresh`,
      act('refresh', (_all, author) => activator.refreshAll(author)),
    );
    declare(
      app,
      `${base}/refresh/:engine`,
      act('refresh', ({ engine = '' }, author) => activator.refreshEngine(engine, author)),
    );
    declare(app, `${base}/refresh/:naan/:name`, refreshKo);
    declare(app, `${base}/refresh/:naan/:name/:version`, refreshKo);
    declare(
      app,
      `${base}/reload`,
      act('reload', (_all, author) => activator.reloadAll(author)),
    );
    declare(app, `${base}/reload/:naan`, incomplete);
    declare(app, `${base}/reload/:naan/:name`, reloadKo);
    declare(app, `${base}/reload/:naan/:name/:version`, reloadKo);
  }
}
