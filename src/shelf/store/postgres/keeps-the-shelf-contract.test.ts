import { after } from 'node:test';
import { postgresStorages } from '../../../../test/conformance/postgres-storage.ts';
import { shelfConformance } from '../../../../test/conformance/shelf.ts';

const storages = await postgresStorages();
after(() => storages[Symbol.asyncDispose]());
shelfConformance('PostgreSQL store', () => storages.make());
