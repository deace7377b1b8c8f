import { parseDeployment } from '../../knowledge-object/descriptors/deployment.ts';
import type { Deployment } from '../../knowledge-object/descriptors/deployment.ts';
import { parseService } from '../../knowledge-object/descriptors/service.ts';
import type { Service } from '../../knowledge-object/descriptors/service.ts';
import { METADATA_FILE, parseMetadata } from '../../knowledge-object/metadata.ts';
import type { KoMetadata } from '../../knowledge-object/metadata.ts';
import { shown } from '../../knowledge-object/shown.ts';
import { ServiceError, importRefused } from '../../lib/errors.ts';
import type { PackageFile } from '../shelf.ts';
import { bytes } from '../zip/refusal.ts';
import type { PackageLimits } from './limits.ts';

export interface CheckedPackage {
  readonly metadata: KoMetadata;
  readonly deployment: Deployment;
  readonly service: Service;
}

const MAX_NAMED = 5;

/**
 * Checks what every package on the shelf must have: "Service and deployment descriptors and every artifact that the
 * deployment names must be in it and readable as what they are". Whether an endpoint can run is decided on
 * activation.
 * @param read gives the bytes of one of the files.
 * @throws importRefused that names the file and what to do; all that is missing in one message.
 */
export async function checkPackage(
  read: (path: string) => Promise<Buffer>,
  files: ReadonlyMap<string, PackageFile>,
  limits: Pick<PackageLimits, 'metadata' | 'descriptor'>,
): Promise<CheckedPackage> {
  const sized = async (path: string, limit: number): Promise<Buffer> => {
    const size = files.get(path)?.size ?? 0;
    if (size > limit) throw importRefused(`${shown(path)} has ${bytes(size)}; it may have ${bytes(limit)}`);
    return read(path);
  };
  if (!files.has(METADATA_FILE)) throw importRefused(`The package has no ${METADATA_FILE}`);
  const metadata = parseMetadata(decodeMetadata(await sized(METADATA_FILE, limits.metadata)));

  const problems: string[] = [];
  const descriptor = async <T>(
    field: DescriptorField,
    parse: (text: string, file: string) => T,
  ): Promise<T | undefined> => {
    const path = metadata[field];
    if (path === undefined) problems.push(`${METADATA_FILE} has no ${field}: it must name the descriptor's file`);
    else if (!files.has(path)) problems.push(missing(path, `${field} in ${METADATA_FILE}`));
    else {
      try {
        return parse((await sized(path, limits.descriptor)).toString(), shown(path));
      } catch (thrown) {
        if (!(thrown instanceof ServiceError) || thrown.code !== 'import-refused') throw thrown;
        problems.push(thrown.message);
      }
    }
    return undefined;
  };
  const service = await descriptor('hasServiceSpecification', parseService);
  const deployment = await descriptor('hasDeploymentSpecification', parseDeployment);
  if (deployment !== undefined) problems.push(...missingArtifacts(deployment, files));
  if (deployment === undefined || service === undefined || problems.length > 0) throw importRefused(list(problems));
  return { metadata, deployment, service };
}

type DescriptorField = 'hasServiceSpecification' | 'hasDeploymentSpecification';

function decodeMetadata(content: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(content);
  } catch (cause) {
    throw importRefused(`${METADATA_FILE} is not UTF-8 text: save it as UTF-8`, { cause });
  }
}

function missingArtifacts({ endpoints, file }: Deployment, files: ReadonlyMap<string, PackageFile>): string[] {
  const named = new Map(
    [...endpoints.values()].flat().flatMap((entry) => entry.artifacts.map((path) => [path, entry.line])),
  );
  return [...named].filter(([path]) => !files.has(path)).map(([path, line]) => missing(path, `${file} line ${line}`));
}

const missing = (path: string, where: string): string =>
  `${shown(path)}, named by ${where}, is not in the package: add it or correct the name`;

const list = (problems: readonly string[]): string =>
  [
    ...problems.slice(0, MAX_NAMED),
    ...(problems.length > MAX_NAMED ? [`${problems.length - MAX_NAMED} more`] : []),
  ].join('; ');
