import type { Setting } from './setting.ts';

/** "Limits (each an option; one table in the docs)". */
export const LIMIT_SETTINGS = [
  {
    option: 'max-package',
    env: 'KGRID_MAX_PACKAGE',
    kind: 'size',
    default: '100MB',
    group: 'Limits',
    help: 'Package, zipped',
  },
  {
    option: 'max-body',
    env: 'KGRID_MAX_BODY',
    kind: 'size',
    default: '10MB',
    group: 'Limits',
    help: 'Body of a request, but for packages',
  },
  {
    option: 'execution-timeout',
    env: 'KGRID_EXECUTION_TIMEOUT',
    kind: 'duration',
    default: '5s',
    group: 'Limits',
    help: 'A call of a javascript endpoint',
  },
  {
    option: 'runtime-timeout',
    env: 'KGRID_RUNTIME_TIMEOUT',
    kind: 'duration',
    default: '30s',
    group: 'Limits',
    help: 'A call of an endpoint of node, python or an external runtime',
  },
  {
    option: 'isolate-memory',
    env: 'KGRID_ISOLATE_MEMORY',
    kind: 'size',
    default: '128MB',
    group: 'Limits',
    help: 'Heap of a javascript endpoint, at least 8MB',
  },
  {
    option: 'max-held',
    env: 'KGRID_MAX_HELD',
    kind: 'size',
    default: '512MB',
    group: 'Limits',
    help: 'Bodies and answers that are held for clients at a time',
  },
  {
    option: 'max-rate',
    env: 'KGRID_MAX_RATE',
    kind: 'number',
    default: '0',
    group: 'Limits',
    help: 'Requests a second of one user, key or token, or without a login of one address, on all activators together; 0: any number',
  },
  {
    option: 'max-calls',
    env: 'KGRID_MAX_CALLS',
    kind: 'number',
    default: '0',
    group: 'Limits',
    help: 'Calls at once of the same; 0: any number',
  },
] as const satisfies readonly Setting[];
