/** The services for all files of this folder that run in one process and leave them as they are. */
import { after } from 'node:test';
import { TestRegistry } from '../../../runtimes/node/test/registry.ts';
import { startService, temporaryFolder } from '../../acceptance/support/service.ts';
import type { OwnService } from '../../acceptance/support/service.ts';

/** Its knowledge objects `nodemay` and `pythonmay` may start programs. */
export const MAY_START_PROGRAMS = 'programs';

export interface WorkersService {
  readonly service: OwnService;
  /** Of its user. */
  readonly home: string;
  /** From which it installs packages. */
  readonly registry: TestRegistry;
}

let workers: Promise<WorkersService> | undefined;
let hosts: Promise<OwnService> | undefined;

/** With the engines `node` and `python` in workers of its own. */
export function theWorkersService(): Promise<WorkersService> {
  workers ??= startWorkers();
  return workers;
}

/** Without runtimes of its own: those of others register. */
export function theHostsService(): Promise<OwnService> {
  hosts ??= startHosts();
  return hosts;
}

async function startWorkers(): Promise<WorkersService> {
  const registry = await TestRegistry.start();
  const home = await temporaryFolder();
  const mayStart = ['node', 'python'].flatMap((engine) => ['--allow-processes', `${MAY_START_PROGRAMS}/${engine}may`]);
  const service = await startService({
    // Runtimes of this machine have nothing to do with the public address.
    args: [
      ...['--runtimes', 'node,python', '--public-url', 'http://kgrid.invalid', '--execution-timeout', '20s'],
      ...['--provenance', ...mayStart],
    ],
    env: { HOME: home.path, ...registry.settings },
  });
  after(async () => {
    await service[Symbol.asyncDispose]();
    await registry[Symbol.asyncDispose]();
    await home[Symbol.asyncDispose]();
  });
  return { service, home: home.path, registry };
}

async function startHosts(): Promise<OwnService> {
  const service = await startService();
  after(() => service[Symbol.asyncDispose]());
  return service;
}
