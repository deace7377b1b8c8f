/** The service of the engines whose code runs in workers, for all files of batches that run in this process. */
import { after } from 'node:test';
import { serviceDescriptor } from '../../acceptance/support/ko.ts';
import type { Ko } from '../../acceptance/support/ko.ts';
import { startService } from '../../acceptance/support/service.ts';
import type { OwnService } from '../../acceptance/support/service.ts';

let shared: Promise<OwnService> | undefined;

export function theWorkerService(): Promise<OwnService> {
  shared ??= start();
  return shared;
}

async function start(): Promise<OwnService> {
  const service = await startService({
    args: ['--runtimes', 'node,python', '--runtime-timeout', '60s', '--validate-inputs', 'enforce'],
  });
  after(() => service[Symbol.asyncDispose]());
  return service;
}

/** The KO with a descriptor of OpenAPI 3.1 that holds the input of its endpoint `run` to a schema. */
export function withInput(schema: object, ko: Ko): Ko {
  const descriptor = serviceDescriptor(`/${ko.naan}/${ko.name}`, '1.0', []) as Record<string, unknown>;
  const post = {
    requestBody: { content: { 'application/json': { schema } } },
    responses: { '200': { description: 'n' } },
  };
  const document = { ...descriptor, openapi: '3.1.0', paths: { '/run': { post } } };
  return { ...ko, files: { ...ko.files, 'service.yaml': JSON.stringify(document) } };
}
