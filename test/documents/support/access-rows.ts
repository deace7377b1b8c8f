/** The table of routes and roles in docs/security.md. Each of its cells is a test: `test/access/roles-by-route.test.ts`. */
import { Grants } from '../../../src/identity/grants.ts';
import { isForAll, ROLES } from '../../../src/identity/permissions.ts';
import type { Role } from '../../../src/identity/permissions.ts';
import { declaredRoutes } from './declared-routes.ts';
import type { DeclaredRoute } from './declared-routes.ts';

/** `none`: without a login, where everybody may nothing (`--anonymous none`). */
export const COLUMNS = ['none', ...ROLES.toReversed()] as const;
export type Column = (typeof COLUMNS)[number];
export type Cell = 'yes' | 'empty' | '401' | '403' | '404';

export interface AccessRow extends DeclaredRoute {
  readonly cells: Readonly<Record<Column, Cell>>;
}

export async function accessRows(): Promise<readonly AccessRow[]> {
  const routes = (await declaredRoutes()).filter(({ method }) => method !== 'HEAD');
  return routes
    .map((each) => ({ ...each, cells: cellsOf(each) }))
    .sort((a, b) => (a.route < b.route ? -1 : a.route > b.route ? 1 : a.method < b.method ? -1 : 1));
}

const cellsOf = (route: DeclaredRoute): AccessRow['cells'] => ({
  none: isForAll(route.access) ? 'yes' : '401',
  metrics: cellOf(route, 'metrics'),
  reader: cellOf(route, 'reader'),
  caller: cellOf(route, 'caller'),
  author: cellOf(route, 'author'),
  operator: cellOf(route, 'operator'),
});

const LISTS: ReadonlySet<string> = new Set([
  '/kos',
  '/endpoints',
  '/endpoints/:engine',
  '/doc/catalogue',
  '/cds-services',
  '/fhir/Library',
  '/mcp',
]);

/** With the role on everything. */
function cellOf({ route, access }: DeclaredRoute, role: Role): Cell {
  const grants = Grants.of([role]);
  if (grants.everywhere(access)) return 'yes';
  const hides = !grants.everywhere('read');
  if (LISTS.has(route) && (access === 'read' || access === 'execution')) return 'empty';
  if (access === 'read' || access === 'execution') return hides ? '404' : '403';
  return hides && route.includes(':naan') ? '404' : '403';
}
