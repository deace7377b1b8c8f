/** What the shelf gave, and the endpoints that it declares. */
import type { DeploymentEntry } from '../knowledge-object/descriptors/deployment.ts';
import type { ServiceError } from '../lib/errors.ts';
import type { Endpoint } from './endpoint.ts';
import type { EndpointSet, LoadFailure } from './endpoint-set.ts';
import { isTransient } from './loaded-ko.ts';
import type { LoadedKo } from './loaded-ko.ts';

/** Says something about the process, and nothing about one knowledge object. */
export const saysNothingOfTheKo = (thrown: unknown): thrown is ServiceError =>
  isTransient(thrown) && thrown.code === 'too-many-open';

/** What the shelf gave. */
export interface Loading {
  readonly declared: Declared[];
  readonly opened: LoadedKo[];
  readonly failures: LoadFailure[];
  /** Something could not be read at this moment. */
  readonly refusal: ServiceError | undefined;
}

/** An endpoint that a deployment descriptor declares; `present` when it is there already. */
export interface Declared {
  readonly ko: LoadedKo;
  readonly entry: DeploymentEntry;
  readonly present?: Endpoint;
}

/** What could not be read, or whose endpoints could not, for a reason that passes. */
export const unreadOf = ({ endpoints, failures }: EndpointSet): readonly LoadFailure[] => [
  ...failures.filter(({ transient }) => transient),
  ...endpoints
    .filter((each) => each.transient && each.status === 'FAILED_TO_ACTIVATE')
    .map((each) => ({ id: each.ko.id, cause: each.detail ?? '', transient: true })),
];

export const idOf = ({ ko, entry }: Declared, version: string): string =>
  `${ko.id.naan}/${ko.id.name}/${version}${entry.path}`;
