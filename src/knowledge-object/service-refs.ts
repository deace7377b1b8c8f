/** Which services a knowledge object has for an activator, as its metadata says it. */
import type { LinkedObject } from './linked-data.ts';
import { withoutEndSlashes } from '../lib/text.ts';
import { withoutDot } from './package-path.ts';

/** The services of a knowledge object. Those of the first generation have one, with explicit paths. */
export interface DeclaredServices {
  readonly services: readonly ServiceRef[];
  /** Whether `service.yaml` and `deployment.yaml` at the root stand for what is not named. */
  readonly hasDefaults: boolean;
}

export interface ServiceRef {
  /** Path of the service descriptor in the package; empty where it was reported as unreadable. */
  readonly specification?: string;
  /** Alternatives, in their order. */
  readonly implementations: readonly ImplementationRef[];
  /** The fields of the outermost object that say so, as they are written. */
  readonly fields: { readonly specification: string; readonly deployment: string };
}

export interface ImplementationRef {
  /** In the package, without slashes at its ends; empty for the root; undefined where it names no folder. */
  readonly folder: string | undefined;
  /** Path of the deployment descriptor, where it is named; empty where it was reported as unreadable. */
  readonly deployment?: string;
  /** Whether it says that it is for an activator. What does not say so may be for something else, and is no fault. */
  readonly isForActivator: boolean;
}

/** What the first generation says with two fields of the outermost object. */
export interface NamedPaths {
  readonly service: string | undefined;
  readonly deployment: string | undefined;
}

/** "First-generation fields win where both are there": of a knowledge object that holds one deployment descriptor. */
export function namedService({ service, deployment }: NamedPaths, root: LinkedObject): ServiceRef {
  return {
    ...(service === undefined ? {} : { specification: service }),
    implementations: [{ folder: '', ...(deployment === undefined ? {} : { deployment }), isForActivator: true }],
    fields: fieldsOf(root),
  };
}

/** "A missing `hasServiceSpecification`/`hasDeploymentSpecification` falls back to the activation service." */
export function activationServices(named: NamedPaths, root: LinkedObject): ServiceRef[] {
  const found = root.objects('hasService').flatMap((service) => {
    const implementations = implementationsOf(service);
    return implementations.length === 0 ? [] : [{ implementations, specification: specificationOf(service) }];
  });
  const key = root.find('hasService')?.key ?? 'hasService';
  return found.map(({ implementations, specification: own }) => {
    // What is said once for all cannot be meant for each of several.
    const specification = found.length > 1 ? (own ?? named.service) : (named.service ?? own);
    const service = specification === named.service ? fieldsOf(root).specification : key;
    return {
      implementations,
      ...(specification === undefined ? {} : { specification }),
      fields: { specification: service, deployment: key },
    };
  });
}

const fieldsOf = (root: LinkedObject): ServiceRef['fields'] => ({
  specification: root.find('hasServiceSpecification')?.key ?? 'hasServiceSpecification',
  deployment: root.find('hasDeploymentSpecification')?.key ?? 'hasDeploymentSpecification',
});

const specificationOf = (service: LinkedObject): string | undefined => {
  const path = withoutDot(service.text('hasServiceSpecification') ?? '');
  return path === '' ? undefined : path;
};

function implementationsOf(service: LinkedObject): ImplementationRef[] {
  const isApi = service.types.length === 0 || service.types.some((type) => OPEN_TYPES.has(plainType(type)));
  const all = service.objects('implementedBy');
  const found = all.flatMap((each) => {
    const isForActivator = each.types.some((type) => FOR_ACTIVATOR.test(type));
    if (!isForActivator && (!isApi || each.types.length > 0)) return [];
    return [{ folder: folderOf(each.id), isForActivator }];
  });
  return all.length === 0 && isApi ? [{ folder: '', isForActivator: false }] : found;
}

/** `https://kgrid.org/specs/activationSpec.html#object`, in its spellings. */
const FOR_ACTIVATOR = /(?:^|[/:#])activationSpec(?:\.html)?(?:#|$)/i;

/** Types of services that may be for an activator though their implementations do not say so. */
const OPEN_TYPES: ReadonlySet<string> = new Set(['api', 'service']);

/** Without prefix or address, in lower case. */
export const plainType = (type: string): string =>
  type.slice(Math.max(...['/', '#', ':'].map((c) => type.lastIndexOf(c))) + 1).toLowerCase();

/** "Its `@id` is a folder relative to the root (`.`, `abdominal/`, `bmi/deno`)"; a URL or a blank node is none. */
function folderOf(id: string | undefined): string | undefined {
  if (id === undefined || id.startsWith('_:') || /^[a-z][a-z\d+.-]*:/i.test(id)) return undefined;
  const folder = withoutEndSlashes(withoutDot(id.trim()));
  return folder === '.' ? '' : folder;
}
