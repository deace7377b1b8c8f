/** Which files of a package describe its services and deploy them: the same for import, activation and `kgrid check`. */
import { posix } from 'node:path';
import type { PackageProblem } from '../lib/errors.ts';
import { escapeForMessage } from '../lib/text.ts';
import type { Deployment, DeploymentEntry } from './descriptors/deployment.ts';
import { METADATA_FILE, metadataProblem } from './metadata-text.ts';
import type { ReadableMetadata } from './metadata.ts';
import type { ImplementationRef, ServiceRef } from './service-refs.ts';

export const SERVICE_FILE = 'service.yaml';
export const DEPLOYMENT_FILE = 'deployment.yaml';

/** In the order in which they are looked for: some write the other ending, and would deploy nothing without a word. */
const SERVICE_FILES = [SERVICE_FILE, 'service.yml'] as const;
const DEPLOYMENT_FILES = [DEPLOYMENT_FILE, 'deployment.yml'] as const;

/** One deployment descriptor, and the service descriptor that it is for. */
export interface DeployedService {
  readonly service: string;
  readonly deployment: string;
  /** To which the artifacts are relative; empty for the root. */
  readonly folder: string;
  /** Those with the same number are of one service: of these, what deploys the same path are alternatives. */
  readonly of: number;
}

export interface DeployedServices {
  readonly services: readonly DeployedService[];
  /** The first service descriptor, of a knowledge object that deploys nothing too. */
  readonly descriptor: string | undefined;
  /** Service descriptors that are named and there: they must be readable, whatever else is missing. */
  readonly named: readonly string[];
  readonly problems: readonly PackageProblem[];
}

type Files = Pick<ReadonlyMap<string, unknown>, 'has' | 'keys'>;

/**
 * None where the knowledge object deploys nothing, which is no problem where nothing says that it does. Where there are
 * problems, a service descriptor may be missing.
 */
export function deployedServices(metadata: ReadableMetadata, files: Files): DeployedServices {
  const { text, services: refs, hasDefaults } = metadata;
  const problems: PackageProblem[] = [];
  const report = (field: string, message: string): void => void problems.push(metadataProblem(text, field, message));
  const missing = (path: string, field: string): void =>
    report(
      field,
      `${escapeForMessage(path)}, named by ${field} in ${METADATA_FILE}, is not in the package: add it or correct the name`,
    );

  const [first] = refs;
  if (first !== undefined && refs.flatMap(({ implementations }) => implementations).length > MAX_IMPLEMENTATIONS) {
    report(first.fields.deployment, TOO_MANY);
    return { services: [], descriptor: undefined, named: [], problems };
  }
  const services: DeployedService[] = [];
  const taken = new Set<string>();
  const add = (ref: ServiceRef, of: number, from: readonly Found[]): void => {
    for (const { deployment, folder } of from) {
      if (taken.has(deployment)) continue;
      taken.add(deployment);
      const service = ref.specification ?? defaultSpecification(folder, files);
      if (service === undefined) report(ref.fields.specification, withoutSpecification(deployment));
      else services.push({ service, deployment, folder, of });
    }
  };
  for (const [of, ref] of refs.entries()) {
    const { specification, implementations, fields } = ref;
    const here = implementations.flatMap((each) => found(each, files));
    if (specification === undefined && !hasDefaults) report(fields.specification, unnamed('hasServiceSpecification'));
    // What a service names that is for another program than an activator is none of ours.
    else if (
      isMissing(specification, files) &&
      (here.length > 0 || implementations.some((each) => each.isForActivator))
    )
      missing(specification, fields.specification);
    for (const { folder, deployment, isForActivator } of implementations) {
      if (isMissing(deployment, files)) missing(deployment, fields.deployment);
      else if (deployment === undefined && !hasDefaults)
        report(fields.deployment, unnamed('hasDeploymentSpecification'));
      else if (deployment === undefined && isForActivator && folder !== undefined && !holds(files, folder))
        report(fields.deployment, withoutFolder(folder));
    }
    add(ref, of, here);
  }
  // "… then to `service.yaml`/`deployment.yaml` at the root."
  const isUndeployed = services.length === 0 && problems.length === 0 && hasDefaults;
  const atRoot = isUndeployed ? DEPLOYMENT_FILES.find((path) => files.has(path)) : undefined;
  if (first !== undefined && atRoot !== undefined) add(first, 0, [{ deployment: atRoot, folder: '' }]);
  const named = refs.flatMap(({ specification, implementations }) =>
    specification !== undefined && files.has(specification) && implementations.some((each) => each.isForActivator)
      ? [specification]
      : [],
  );
  return {
    services,
    descriptor: services[0]?.service ?? named[0] ?? defaultSpecification('', files),
    named,
    problems,
  };
}

const MAX_IMPLEMENTATIONS = 100;
const TOO_MANY = `${METADATA_FILE} has services with more than ${MAX_IMPLEMENTATIONS} implementations: divide them among knowledge objects`;

const isMissing = (path: string | undefined, files: Files): path is string =>
  path !== undefined && path !== '' && !files.has(path);

const unnamed = (field: string): string => `${METADATA_FILE} has no ${field}: it must name the descriptor's file`;

const withoutFolder = (folder: string): string =>
  `the folder ${escapeForMessage(folder)} of a service in ${METADATA_FILE} is not in the package: add it or correct the name`;

interface Found {
  readonly deployment: string;
  readonly folder: string;
}

/** "`deployment.yaml` lies in that folder, or, where `@id` is a package folder with a trailing slash, beside it." */
function found({ folder, deployment }: ImplementationRef, files: Files): Found[] {
  if (deployment !== undefined) return files.has(deployment) ? [{ deployment, folder: '' }] : [];
  if (folder === undefined) return [];
  for (const name of DEPLOYMENT_FILES) {
    for (const each of new Set([folder, parentOf(folder)])) {
      const path = join(each, name);
      if (files.has(path)) return [{ deployment: path, folder: each }];
    }
  }
  return [];
}

const defaultSpecification = (folder: string, files: Files): string | undefined =>
  SERVICE_FILES.flatMap((name) => [name, join(folder, name)]).find((path) => files.has(path));

const withoutSpecification = (deployment: string): string =>
  `${escapeForMessage(deployment)} deploys endpoints, but the package has no ${SERVICE_FILE}: add it, or name the service descriptor as hasServiceSpecification`;

const join = (folder: string, path: string): string => (folder === '' ? path : `${folder}/${path}`);

const parentOf = (folder: string): string => (folder.includes('/') ? posix.dirname(folder) : '');

function holds(files: Files, folder: string): boolean {
  if (folder === '' || files.has(folder)) return true;
  for (const path of files.keys()) if (path.startsWith(`${folder}/`)) return true;
  return false;
}

/** A deployment descriptor with the paths of its artifacts as the package has them. */

/** `folder`: "artifact relative to the deployment's folder"; one that is only there from the root is meant so. */
export function withPackagePaths(deployment: Deployment, folder: string, files: Files): Deployment {
  const entries = [...deployment.endpoints];
  if (folder === '' && entries.every(([, each]) => each.every(({ installs }) => installs === undefined)))
    return deployment;
  const placed = (path: string): string => {
    const here = posix.join(folder, path);
    return !files.has(here) && files.has(path) ? path : here;
  };
  const below = new Map<string, readonly string[]>();
  const filesIn = (start: string): readonly string[] => {
    const found = below.get(start) ?? [...files.keys()].filter((path) => path.startsWith(start));
    below.set(start, found);
    return found;
  };
  const inPackage = (entry: DeploymentEntry): DeploymentEntry =>
    entry.installs === undefined
      ? { ...entry, artifacts: entry.artifacts.map(placed), entry: entry.entry === '' ? '' : placed(entry.entry) }
      : installed(entry, deployment.file, folder, filesIn);
  return { ...deployment, endpoints: new Map(entries.map(([path, each]) => [path, each.map(inPackage)])) };
}

/** What makes a folder an installable package, or what of it is ready to be installed. */
const PROJECT_FILES = ['pyproject.toml', 'setup.py', 'setup.cfg'];
const READY = /^dist\/[^/]+\.whl$/;

/** "The folder of the deployment is an installable package": all its files, with the one that describes it as entry. */
function installed(
  entry: DeploymentEntry,
  file: string,
  folder: string,
  filesIn: (start: string) => readonly string[],
): DeploymentEntry {
  // Some have the package in a folder of its name beside the deployment.
  const beside = file.includes('/') ? posix.dirname(file) : '';
  for (const installs of [beside, folder, posix.join(beside, entry.package ?? '')]) {
    const start = installs === '' ? '' : `${installs}/`;
    const artifacts = filesIn(start);
    const project =
      PROJECT_FILES.map((name) => `${start}${name}`).find((path) => artifacts.includes(path)) ??
      artifacts.find((path) => READY.test(path.slice(start.length)));
    if (project !== undefined) return { ...entry, installs, artifacts, entry: project };
  }
  const where = folder === '' ? 'the root' : escapeForMessage(folder);
  const problem = `${file} line ${entry.line}: ${escapeForMessage(entry.path)} names a package, but ${where} has no pyproject.toml, no setup.py and no wheel in dist: add one, or name the file of the code as artifact`;
  return { ...entry, problems: [...entry.problems, problem] };
}
