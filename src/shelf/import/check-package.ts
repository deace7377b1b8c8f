import { type DeployedService, deployedServices, withPackagePaths } from '../../knowledge-object/deployed-services.ts';
import { type DescriptorReader, readHere } from '../../knowledge-object/descriptors/background-reader.ts';
import type { Deployment } from '../../knowledge-object/descriptors/deployment.ts';
import type { Service } from '../../knowledge-object/descriptors/service.ts';
import { RESERVED_NAANS } from '../../knowledge-object/id.ts';
import {
  type KoMetadata,
  METADATA_FILE,
  metadataProblem,
  readMetadata,
  tooManyValues,
} from '../../knowledge-object/metadata.ts';
import { importRefused, type PackageProblem, ServiceError } from '../../lib/errors.ts';
import { escapeForMessage } from '../../lib/text.ts';
import { bytes, type PackageLimits } from '../archive/archive.ts';
import { textOfMetadata } from '../package/admit.ts';
import type { PackageFile } from '../shelf.ts';

export interface CheckedPackage {
  readonly metadata: KoMetadata;
  /** Its services for an activator; none where it deploys nothing. */
  readonly services: readonly CheckedService[];
}

export interface CheckedService {
  readonly service: Service;
  readonly deployment: Deployment;
}

const MAX_NAMED = 5;

type Read = (path: string) => Promise<Buffer>;
type Files = ReadonlyMap<string, PackageFile>;
type CheckLimits = Pick<PackageLimits, 'metadata' | 'descriptor'>;

/**
 * Checks what every package on the shelf must have: "Service and deployment descriptors and every artifact that the
 * deployment names must be in it and readable as what they are". Whether an endpoint can run is decided on
 * activation.
 * @param read gives the bytes of one of the files.
 * @throws importRefused that names the file and what to do; all that is wrong in one message.
 */
export async function checkPackage(
  read: Read,
  files: Files,
  limits: CheckLimits,
  { descriptors, defaultNaan }: CheckOptions = {},
): Promise<CheckedPackage> {
  const options = { ...(descriptors && { descriptors }), ...(defaultNaan === undefined ? {} : { defaultNaan }) };
  const { metadata, services, problems } = await inspectPackage(read, files, limits, options);
  if (metadata === undefined || problems.length > 0)
    throw importRefused(list(problems.map(({ message }) => message)), { problems });
  return { metadata, services };
}

export interface CheckOptions {
  readonly descriptors?: DescriptorReader | undefined;
  /** Of knowledge objects whose `@id` is a word or a URL. */
  readonly defaultNaan?: string | undefined;
}

export interface InspectedPackage {
  readonly metadata?: KoMetadata;
  /** Those whose descriptors can be read. */
  readonly services: readonly CheckedService[];
  /** The paths of all descriptors that are there, read or not. */
  readonly deployed: readonly DeployedService[];
  /** The paths of service descriptors that are named and there. */
  readonly named: readonly string[];
  /** All that would be refused, and why. */
  readonly problems: readonly PackageProblem[];
}

/** As `checkPackage`, but gives what can be read along with all that is wrong. */
export async function inspectPackage(
  read: Read,
  files: Files,
  limits: CheckLimits,
  { descriptors: reader = readHere, defaultNaan }: CheckOptions = {},
): Promise<InspectedPackage> {
  const problems: PackageProblem[] = [];
  /** What a step gives; its refusal is a problem of that file. */
  const attempt = async <T>(file: string, step: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await step();
    } catch (thrown) {
      if (!(thrown instanceof ServiceError) || thrown.code !== 'import-refused') throw thrown;
      problems.push(...(thrown.problems.length > 0 ? thrown.problems : [{ message: thrown.message, file }]));
      return undefined;
    }
  };
  const sized = async (path: string, limit: number): Promise<Buffer> => {
    const size = files.get(path)?.size ?? 0;
    if (size > limit) throw importRefused(`${escapeForMessage(path)} has ${bytes(size)}; it may have ${bytes(limit)}`);
    return read(path);
  };
  const text = await attempt(METADATA_FILE, async () => {
    if (!files.has(METADATA_FILE)) throw importRefused(`The package has no ${METADATA_FILE}`);
    const decoded = textOfMetadata(await sized(METADATA_FILE, limits.metadata));
    const problem = tooManyValues(decoded);
    if (problem !== undefined) throw importRefused(`${METADATA_FILE} ${problem}`);
    return decoded;
  });
  if (text === undefined) return { services: [], deployed: [], named: [], problems };
  const { metadata, readable, problems: ofMetadata } = readMetadata(text, defaultNaan);
  problems.push(...ofMetadata);
  if (metadata !== undefined && RESERVED_NAANS.has(metadata.id.naan)) {
    const message = `@id in ${METADATA_FILE} has the naan "${metadata.id.naan}", which is a path of this service: choose another`;
    problems.push(metadataProblem(text, '@id', message));
  }
  if (readable === undefined) return { services: [], deployed: [], named: [], problems };
  const { services: deployed, named, problems: ofFiles } = deployedServices(readable, files);
  problems.push(...ofFiles);

  const textIn = async (path: string): Promise<string> => (await sized(path, limits.descriptor)).toString();
  /** A service may have several deployments. */
  const parsed = new Map<string, Promise<Service | undefined>>();
  const serviceIn = (path: string): Promise<Service | undefined> => {
    const known =
      parsed.get(path) ?? attempt(path, async () => reader.service(await textIn(path), escapeForMessage(path)));
    parsed.set(path, known);
    return known;
  };
  for (const path of named) await serviceIn(path);
  const services: CheckedService[] = [];
  for (const { service: path, deployment: file, folder } of deployed) {
    const service = files.has(path) ? await serviceIn(path) : undefined;
    const deployment = await attempt(file, async () => reader.deployment(await textIn(file), escapeForMessage(file)));
    if (deployment === undefined) continue;
    const placed = withPackagePaths(deployment, folder, files);
    problems.push(...missingArtifacts(placed, files));
    if (service !== undefined) services.push({ service, deployment: placed });
  }
  return {
    ...(metadata === undefined ? {} : { metadata }),
    services,
    deployed,
    named,
    problems,
  };
}

function missingArtifacts({ endpoints, file }: Deployment, files: Files): PackageProblem[] {
  const named = new Map(
    [...endpoints.values()].flat().flatMap((entry) => entry.artifacts.map((path) => [path, entry.line])),
  );
  return [...named].filter(([path]) => !files.has(path)).map(([path, line]) => missingArtifact(path, file, line));
}

/** The deployment descriptor names a file that is not there. */
export const missingArtifact = (path: string, file: string, line: number): PackageProblem => ({
  message: missing(path, `${file} line ${line}`),
  file,
  line,
});

const missing = (path: string, where: string): string =>
  `${escapeForMessage(path)}, named by ${where}, is not in the package: add it or correct the name`;

const list = (problems: readonly string[]): string =>
  [
    ...problems.slice(0, MAX_NAMED),
    ...(problems.length > MAX_NAMED ? [`${problems.length - MAX_NAMED} more`] : []),
  ].join('; ');
