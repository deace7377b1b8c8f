import { parseDeployment } from './deployment.ts';
import type { Deployment } from './deployment.ts';
import { parseService } from './service.ts';
import type { Service } from './service.ts';

/** Reads descriptors. All throw importRefused, with the file and, where there is one, the line. */
export interface DescriptorReader {
  service(text: string, file: string): Promise<Service>;
  deployment(text: string, file: string): Promise<Deployment>;
}

/** What there is to read, and what it gives. */
export interface DescriptorKinds {
  readonly service: Service;
  readonly deployment: Deployment;
}

export const PARSERS: { readonly [K in keyof DescriptorKinds]: (text: string, file: string) => DescriptorKinds[K] } = {
  service: parseService,
  deployment: parseDeployment,
};

/** On this thread: for programs in which nobody waits meanwhile, and in tests. */
export const readHere: DescriptorReader = {
  service: async (text, file) => Promise.resolve(parseService(text, file)),
  deployment: async (text, file) => Promise.resolve(parseDeployment(text, file)),
};
