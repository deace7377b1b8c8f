/** Shelves in a PostgreSQL database. Whoever has a folder loads nothing of it. */
import { join } from 'node:path';
import { userCache } from '../../lib/user-cache.ts';
import type { ShelfStore } from '../stores.ts';
import { isPostgresLocation, parseLocation } from './location.ts';

export const postgresStore: ShelfStore = {
  written: 'a PostgreSQL database, postgres://host/database',
  isAt: isPostgresLocation,
  folderAt: () => undefined,
  labelAt: (location) => parseLocation(location).label,
  async open(location, options) {
    const { openPostgresShelf } = await import('./open-postgres-shelf.ts');
    const { copies = join(userCache('kgrid-activator'), 'shelf') } = options;
    return openPostgresShelf(location, { ...options, onStep: undefined, folder: copies });
  },
  audit: {
    async read(location, access) {
      const { openAuditRows } = await import('./open-audit-rows.ts');
      return openAuditRows(location, access);
    },
    async verify(location, access) {
      const { openAuditRowsToVerify } = await import('./open-audit-rows.ts');
      return openAuditRowsToVerify(location, access);
    },
  },
};
