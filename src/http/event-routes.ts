/** `GET /actuator/events`: what happens in the service, as lines of JSON, as long as somebody reads them. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { overloaded } from '../lib/errors.ts';
import type { Lifecycle } from '../lifecycle.ts';
import { numberIn } from './listings/list-query.ts';
import { declare } from './methods.ts';
import type { ServiceEvents } from './service-events.ts';

interface EventRouteOptions {
  readonly events: ServiceEvents;
  readonly lifecycle: Pick<Lifecycle, 'left' | 'leaving'>;
}

const MOST_LISTENERS = 200;
/** Milliseconds after which a stream ends by itself, so that nobody listens on with a login that is gone. */
const LONGEST_MS = 300_000;

export function eventRoutes(app: FastifyInstance, { events, lifecycle }: EventRouteOptions): void {
  lifecycle.left.addEventListener('abort', () => events[Symbol.dispose](), { once: true });
  app.addHook('onClose', (_app, done) => {
    events[Symbol.dispose]();
    done();
  });

  const listen = (request: FastifyRequest, reply: FastifyReply): unknown => {
    const after = numberIn(request, 'after', Number.MAX_SAFE_INTEGER);
    if (lifecycle.leaving) throw overloaded('The service is stopping', 5);
    if (events.listeners >= MOST_LISTENERS)
      throw overloaded(`${MOST_LISTENERS} listen to the events already; try again later`, 30);
    const listener = events.listen(after);
    const { until = Infinity } = request.principal;
    const timer = setTimeout(() => listener.end(), Math.max(0, Math.min(LONGEST_MS, until - Date.now()))).unref();
    // Also where its client goes.
    reply.raw.once('close', () => listener.destroy());
    listener.once('late', () => reply.raw.destroy());
    listener.once('close', () => clearTimeout(timer));
    void reply.type('application/x-ndjson; charset=utf-8').headers({
      'cache-control': 'no-store',
      // Proxies would wait for the whole of it.
      'x-accel-buffering': 'no',
    });
    return reply.send(listener);
  };
  declare(app, '/actuator/events', { GET: { access: 'info', handler: listen, head: false } });
}
