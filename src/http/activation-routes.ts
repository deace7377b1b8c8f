/** The Activation API: "all GET; all respond 303 redirecting to `/endpoints`". A POST does the same. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Activator } from '../activation/activator.ts';
import type { BecameActive, ChangeOutcome } from '../activation/became-active.ts';
import { malformedRequest } from '../lib/errors.ts';
import { someOf } from '../lib/text.ts';
import { audit } from './access/audit.ts';
import type { AuditEntry } from './access/audit.ts';
import { atIdsOf, MAX_NAMED } from './access/audited-names.ts';
import { prefixOf } from './address.ts';
import { askedVersion } from './asked-version.ts';
import { declare } from './methods.ts';

interface Named {
  readonly naan?: string;
  readonly name?: string;
  readonly version?: string;
  readonly engine?: string;
}

export function activationRoutes(app: FastifyInstance, activator: Activator): void {
  const act = (action: 'refresh' | 'reload', change: (named: Named) => Promise<ChangeOutcome>) => {
    const handler = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
      const named = request.params as Named;
      const v = askedVersion(request);
      const whole = { ...named, ...(named.version === undefined && v !== undefined ? { version: v } : {}) };
      const subject = Object.values(whole).join('/') || 'all';
      let outcome: ChangeOutcome;
      try {
        outcome = await change(whole);
      } catch (thrown) {
        audit(request, { action, subject, outcome: 'failed' });
        throw thrown;
      }
      const told = digestsOf(outcome.active, whole.name !== undefined);
      audit(request, { action, subject, ...told, ...howItEnded(outcome) });
      return reply
        .code(303)
        .header('location', `${prefixOf(request)}/endpoints`)
        .send();
    };
    const operation = { access: 'activation' as const, handler };
    // "`HEAD` on these paths is 405: it must not act."
    return { GET: { ...operation, head: false }, POST: operation };
  };
  const refreshKo = act('refresh', ({ naan = '', name = '', version }) => activator.refresh(naan, name, version));
  const reloadKo = act('reload', ({ naan = '', name = '', version }) => activator.reload(naan, name, version));
  const incomplete = act('reload', ({ naan = '' }) =>
    Promise.reject(
      malformedRequest(`reload/${naan} names no knowledge object: use reload/<naan>/<name>/<version> or reload alone`),
    ),
  );

  for (const base of ['/actuator/activation', '/actuator']) {
    declare(
      app,
      `${base}/refresh`,
      act('refresh', () => activator.refreshAll()),
    );
    declare(
      app,
      `${base}/refresh/:engine`,
      act('refresh', ({ engine = '' }) => activator.refreshEngine(engine)),
    );
    declare(app, `${base}/refresh/:naan/:name`, refreshKo);
    declare(app, `${base}/refresh/:naan/:name/:version`, refreshKo);
    declare(
      app,
      `${base}/reload`,
      act('reload', () => activator.reloadAll()),
    );
    declare(app, `${base}/reload/:naan`, incomplete);
    declare(app, `${base}/reload/:naan/:name`, reloadKo);
    declare(app, `${base}/reload/:naan/:name/:version`, reloadKo);
  }
}

/** Which content is active since: of a KO that was named always, of all others where it is another than before. */
function digestsOf(active: readonly BecameActive[], isNamed: boolean): Pick<AuditEntry, 'atId' | 'digest' | 'digests'> {
  const told = isNamed ? active : active.filter(({ isNew }) => isNew);
  const [first] = told;
  if (first === undefined) return {};
  if (isNamed && told.length === 1)
    return { digest: first.digest, ...(first.atId === undefined ? {} : { atId: first.atId }) };
  const all = told.map(({ ko, digest }) => `${ko} ${digest}`);
  return { digests: someOf(all, MAX_NAMED), ...atIdsOf(told) };
}

/** What could not be activated is told, and the rest is active. */
function howItEnded({ active, endpoints, failed }: ChangeOutcome): Pick<AuditEntry, 'notActive' | 'outcome'> {
  if (failed.length === 0) return { outcome: 'done' };
  const notActive = `${failed.length} of ${Math.max(endpoints, failed.length)}: ${someOf(failed, MAX_NAMED)}`;
  return { notActive, outcome: active.length === 0 ? 'failed' : 'partly' };
}
