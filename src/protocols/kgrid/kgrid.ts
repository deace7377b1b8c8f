/** The protocol of the specification: the Request API, batches, and the Endpoint Resource API. */
import { wantedByAtId } from '../../execution/find-endpoint.ts';
import { askedVersion } from '../../http/headers.ts';
import type { EndpointTexts } from '../../http/listings/endpoint-texts.ts';
import type { MakeProtocol } from '../../http/protocol.ts';
import { Batches, type BatchLimits } from './batch/batches.ts';
import { HttpCalls } from './calls.ts';
import { endpointRoutes } from './endpoint-routes.ts';
import { EXECUTION_ROUTE, executionOperation, executionRoutes } from './execution-routes.ts';
import { fastCalls } from './fast-calls.ts';

export interface KgridOptions {
  readonly publicUrl: string | undefined;
  readonly texts: EndpointTexts;
  readonly batches: BatchLimits;
}

export const kgrid =
  ({ publicUrl, texts, batches: limits }: KgridOptions): MakeProtocol =>
  (execution, service) => {
    const { activator, finder, identity } = execution;
    const { gate, bodies } = service;
    const calls = new HttpCalls(execution, gate);
    const batches = new Batches(execution, service, limits);
    const executing = { activator, identity, finder, calls, batches };
    const executeByAtId = executionOperation(executing, (request) =>
      wantedByAtId(request.url, askedVersion(request), activator.set),
    );
    return {
      addRoutes(app) {
        endpointRoutes(app, { activator, publicUrl, texts, executeByAtId });
        executionRoutes(app, executing);
      },
      fast: {
        method: 'POST',
        route: EXECUTION_ROUTE,
        path: fastCalls({ activator, identity, calls, bodies, gate }),
      },
    };
  };
