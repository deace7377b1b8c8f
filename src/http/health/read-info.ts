/** `GET /actuator/info`. */
import { stringify } from 'yaml';
import type { Activator } from '../../activation/activator.ts';
import type { Build } from '../../build.ts';
import type { EngineRegistry } from '../../engines/engine-registry.ts';
import type { WallsReport } from '../../confinement/report-walls.ts';
import type { Shelf } from '../../shelf/shelf.ts';
import { preferredType } from '../../lib/accept.ts';
import type { Operation } from '../methods.ts';

export interface InfoOptions {
  readonly activator: Activator;
  readonly shelf: Shelf;
  readonly engines: EngineRegistry;
  readonly walls: WallsReport;
  readonly build: Build;
  /** Requests so far. */
  readonly totals: () => { readonly requests: number; readonly calls: number };
  /** Lines of the log that its reader did not take. */
  readonly lostLines: () => number;
}

const TYPES = ['application/json', 'application/yaml', 'text/yaml', 'application/x-yaml', 'text/vnd.yaml'];

export const readInfo = (options: InfoOptions): Operation => ({
  access: 'info',
  handler: async (request, reply) => {
    const content = await infoOf(options);
    void reply.header('cache-control', 'no-store').header('vary', 'Accept');
    const wanted = preferredType(request.headers.accept, TYPES);
    return wanted?.includes('yaml') === true ? reply.type(wanted).send(stringify(content)) : content;
  },
});

async function infoOf({ activator, shelf, engines, walls, build, totals, lostLines }: InfoOptions): Promise<unknown> {
  const { endpoints } = activator.set;
  const count = (status: string): number => endpoints.filter((each) => each.status === status).length;
  return {
    build: { name: 'kgrid-activator', ...build, node: process.version },
    engines: Object.fromEntries(
      [...engines.values()].map((engine) => [engine.name, { ...engines.health(engine), ...engine.info() }]),
    ),
    walls: walls.details,
    kos: (await shelf.list()).length,
    endpoints: { loaded: endpoints.length, activated: count('ACTIVATED'), failed: count('FAILED_TO_ACTIVATE') },
    totals: totals(),
    log: { lostLines: lostLines() },
    uptimeSeconds: Math.floor(process.uptime()),
  };
}
