/** What a person wants to know once the service is ready: which knowledge objects run, and why others do not. */
import type { Endpoint } from './activation/endpoint.ts';
import type { App } from './app.ts';
import { networkNote } from './engines/network/wanted.ts';
import type { NetworkPermissions } from './engines/network/permission.ts';
import { koKey, nameKey } from './knowledge-object/id.ts';
import type { Logger } from './lib/log.ts';

export function reportActivation(
  { activator, shelf }: App,
  log: Logger,
  url: string,
  permissions: NetworkPermissions,
): void {
  const { endpoints, failures, withoutEndpoints } = activator.set;
  const report = (each: Endpoint): void => reportEndpoint(each, log, url, permissions);
  const active = endpoints.filter((each) => each.status === 'ACTIVATED');
  const waiting = endpoints.filter((each) => each.status === 'LOADED');
  active.forEach(report);
  endpoints.filter((each) => each.status === 'FAILED_TO_ACTIVATE').forEach(report);
  for (const { id, cause } of failures) log.warn(`  ${koKey(id)} does not run: ${cause}`);
  for (const { id, cause } of withoutEndpoints) log.info(`  ${koKey(id)} ${cause}`);
  for (const { where, cause } of shelf.damage()) log.warn(`  ${where} on the shelf is not served: ${cause}`);
  const soon = waiting.length === 0 ? '' : `, ${waiting.length} more are being activated`;
  log.info(
    { event: 'ready', active: active.length, endpoints: endpoints.length },
    `Ready: ${active.length} of ${endpoints.length} endpoints are active${soon}. Overview: ${url}/`,
  );
  // Those whose runtime takes its time are told of when they are decided, unless something took their place meanwhile.
  for (const each of waiting)
    void each.decided.then(() => {
      if (activator.set.endpoints.includes(each)) report(each);
    });
}

function reportEndpoint(endpoint: Endpoint, log: Logger, url: string, permissions: NetworkPermissions): void {
  const { id, status, detail, entry, ko } = endpoint;
  const name = nameKey(ko.id);
  const note = networkNote(name, entry.network ?? [], permissions.get(name));
  if (status === 'FAILED_TO_ACTIVATE') log.warn(`  ${id} does not run: ${detail ?? ''}`);
  else
    log.info(
      `  ${entry.method.toUpperCase()} ${url}/${id}  ${ko.details.title ?? ''} (${entry.engine})${note === '' ? '' : `; it ${note}`}`,
    );
}
