import { readHere } from '../../knowledge-object/descriptors/descriptor-reader.ts';
import type { DescriptorReader } from '../../knowledge-object/descriptors/descriptor-reader.ts';
import type { Deployment } from '../../knowledge-object/descriptors/deployment.ts';
import type { Service } from '../../knowledge-object/descriptors/service.ts';
import { METADATA_FILE, metadataProblem, readMetadata, tooManyValues } from '../../knowledge-object/metadata.ts';
import type { KoMetadata } from '../../knowledge-object/metadata.ts';
import { escapeForMessage } from '../../knowledge-object/escape-for-message.ts';
import { ServiceError, importRefused } from '../../lib/errors.ts';
import type { PackageProblem } from '../../lib/errors.ts';
import type { PackageFile } from '../shelf.ts';
import { bytes } from '../zip/refusal.ts';
import type { PackageLimits } from './limits.ts';

export interface CheckedPackage {
  readonly metadata: KoMetadata;
  readonly deployment: Deployment;
  readonly service: Service;
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
  descriptors?: DescriptorReader,
): Promise<CheckedPackage> {
  const { metadata, deployment, service, problems } = await inspectPackage(read, files, limits, descriptors);
  if (metadata === undefined || deployment === undefined || service === undefined || problems.length > 0) {
    throw importRefused(list(problems.map(({ message }) => message)), { problems });
  }
  return { metadata, deployment, service };
}

export interface InspectedPackage extends Partial<CheckedPackage> {
  /** All that would be refused, and why. */
  readonly problems: readonly PackageProblem[];
}

/** As `checkPackage`, but gives what can be read along with all that is wrong. */
export async function inspectPackage(
  read: Read,
  files: Files,
  limits: CheckLimits,
  reader: DescriptorReader = readHere,
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
    const decoded = decodeMetadata(await sized(METADATA_FILE, limits.metadata));
    const problem = tooManyValues(decoded);
    if (problem !== undefined) throw importRefused(`${METADATA_FILE} ${problem}`);
    return decoded;
  });
  if (text === undefined) return { problems };
  const { metadata, descriptors, problems: ofMetadata } = readMetadata(text);
  problems.push(...ofMetadata);
  if (descriptors === undefined) return { problems };

  const descriptor = async <T>(
    field: keyof typeof descriptors,
    parse: (text: string, file: string) => Promise<T>,
  ): Promise<T | undefined> => {
    const path = descriptors[field];
    const report = (message: string): undefined => void problems.push(metadataProblem(text, field, message));
    // It is among the problems of the metadata.
    if (path === '') return undefined;
    if (path === undefined) return report(`${METADATA_FILE} has no ${field}: it must name the descriptor's file`);
    if (!files.has(path)) return report(missing(path, `${field} in ${METADATA_FILE}`));
    return attempt(path, async () => parse((await sized(path, limits.descriptor)).toString(), escapeForMessage(path)));
  };
  const service = await descriptor('hasServiceSpecification', (...given) => reader.service(...given));
  const deployment = await descriptor('hasDeploymentSpecification', (...given) => reader.deployment(...given));
  if (deployment !== undefined) problems.push(...missingArtifacts(deployment, files));
  return {
    ...(metadata === undefined ? {} : { metadata }),
    ...(service === undefined ? {} : { service }),
    ...(deployment === undefined ? {} : { deployment }),
    problems,
  };
}

function decodeMetadata(content: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(content);
  } catch (cause) {
    throw importRefused(`${METADATA_FILE} is not UTF-8 text: save it as UTF-8`, { cause });
  }
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
