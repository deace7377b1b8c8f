/** What a person wants to know once the service is ready: which knowledge objects run. What fails is told as it does. */
import type { Endpoint } from './activation/endpoint.ts';
import type { App } from './app.ts';
import { networkNote, type NetworkPermissions } from './engines/network/permission.ts';
import { RESERVED_NAANS, koKey, nameKey } from './knowledge-object/id.ts';
import type { Logger } from './lib/log.ts';

/** Endpoints that are named each; of more there is the summary, and the log at the level debug. */
const MOST_LINES = 50;

export function reportActivation(
  { activator, shelf }: App,
  log: Logger,
  url: string,
  permissions: NetworkPermissions,
): void {
  const { endpoints, withoutEndpoints } = activator.set;
  const active = endpoints.filter((each) => each.status === 'ACTIVATED');
  const waiting = endpoints.filter((each) => each.status === 'LOADED');
  const isFew = active.length <= MOST_LINES;
  const report = (each: Endpoint): void => reportActive(each, { log, url, permissions, isFew });
  if (isFew || log.isLevelEnabled('debug')) active.forEach(report);
  for (const { id, cause } of withoutEndpoints)
    log[isFew ? 'info' : 'debug']({ event: 'no-endpoints', ko: koKey(id) }, `  ${koKey(id)} ${cause}`);
  for (const { where, cause: reason } of shelf.damage())
    log.warn({ event: 'not-served', where, reason }, `  ${where} on the shelf is not served: ${reason}`);
  for (const name of new Set(
    endpoints.filter(({ ko }) => RESERVED_NAANS.has(ko.id.naan)).map(({ ko }) => nameKey(ko.id)),
  ))
    log.warn(
      { event: 'reserved-naan', ko: name },
      `  ${name} has a naan that is a path of this service by now: it is called below /endpoints/${name} only`,
    );
  const failed = endpoints.length - active.length - waiting.length;
  const soon = waiting.length === 0 ? '' : `, ${waiting.length} more are being activated`;
  log.info(
    { event: 'ready', active: active.length, endpoints: endpoints.length, failed },
    `Ready: ${active.length} of ${endpoints.length} endpoints are active${soon}. Overview: ${url}/`,
  );
  // Those whose runtime takes its time are told of when they are active, unless something took their place meanwhile.
  for (const each of waiting)
    void each.decided.then(() => {
      if (each.status === 'ACTIVATED' && activator.set.endpoints.includes(each)) report(each);
    });
}

interface ReportOptions {
  readonly log: Logger;
  readonly url: string;
  readonly permissions: NetworkPermissions;
  readonly isFew: boolean;
}

function reportActive(endpoint: Endpoint, { log, url, permissions, isFew }: ReportOptions): void {
  const { id, entry, ko, status } = endpoint;
  const name = nameKey(ko.id);
  const note = networkNote(name, entry.network ?? [], permissions.get(name));
  log[isFew ? 'info' : 'debug'](
    {
      event: 'active',
      ko: ko.key,
      endpoint: id,
      engine: entry.engine,
      digest: `sha256:${ko.entry.digest}`,
      status,
    },
    `  ${entry.method.toUpperCase()} ${url}/${id}  ${ko.details.title ?? ''} (${entry.engine})${note === '' ? '' : `; it ${note}`}`,
  );
}
