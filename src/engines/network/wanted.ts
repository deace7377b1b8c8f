/** What knowledge objects ask for, and what became of it, for the operator. */
import { formatHostPort } from '../../lib/host-port.ts';
import type { HostPort } from '../../lib/host-port.ts';
import { optionFor, permits } from './permission.ts';
import type { NetworkPermission } from './permission.ts';

/** What may ask for hosts by `network:` in its deployment descriptor. */
export interface AsksForNetwork {
  readonly network?: readonly HostPort[] | undefined;
}

/** Each once. */
export const wantedHosts = (entries: Iterable<AsksForNetwork>): HostPort[] => {
  const hosts = [...entries].flatMap(({ network }) => network ?? []);
  return [...new Map(hosts.map((each) => [formatHostPort(each), each])).values()];
};

/** Empty where it asks for nothing. @param name `<naan>/<name>`. */
export function networkNote(name: string, wanted: readonly HostPort[], permission?: NetworkPermission): string {
  if (wanted.length === 0) return '';
  const asks = `asks for ${wanted.map(formatHostPort).join(', ')}`;
  const refused = wanted.filter((each) => permission === undefined || !permits(permission, each));
  if (refused.length === 0) return `${asks}, which is allowed`;
  return `${asks}, which is refused without ${refused.map((each) => optionFor(name, each)).join(' ')}`;
}
