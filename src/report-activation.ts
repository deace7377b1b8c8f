/** What a person wants to know once the service is ready: which knowledge objects run, and why others do not. */
import type { App } from './app.ts';
import { koKey } from './knowledge-object/id.ts';
import type { Logger } from './lib/log.ts';

export function reportActivation({ activator, shelf }: App, log: Logger, url: string): void {
  const { endpoints, failures } = activator.set;
  let active = 0;
  for (const each of endpoints) {
    if (each.status === 'ACTIVATED') {
      active++;
      log.info(
        `  ${each.entry.method.toUpperCase()} ${url}/${each.id}  ${each.ko.details.title ?? ''} (${each.entry.engine})`,
      );
    }
  }
  for (const each of endpoints) {
    if (each.status !== 'ACTIVATED')
      log.warn(
        `  ${each.id} ${each.status === 'LOADED' ? 'is being activated' : 'does not run'}: ${each.detail ?? ''}`,
      );
  }
  for (const { id, cause } of failures) log.warn(`  ${koKey(id)} does not run: ${cause}`);
  for (const { where, cause } of shelf.damage()) log.warn(`  ${where} on the shelf is not served: ${cause}`);
  log.info(
    { event: 'ready', active, endpoints: endpoints.length },
    `Ready: ${active} of ${endpoints.length} endpoints are active. Overview: ${url}/`,
  );
}
