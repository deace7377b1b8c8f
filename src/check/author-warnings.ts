/** What an author probably did not mean, though it would run. */
import type { LoadedKo, LoadedService } from '../activation/loaded-ko.ts';
import { isEndpointPart } from '../knowledge-object/id.ts';
import { METADATA_FILE, metadataProblem } from '../knowledge-object/metadata.ts';
import { withoutDot } from '../knowledge-object/package-path.ts';
import { warning } from './findings.ts';
import type { Finding } from './findings.ts';
import type { KoSource } from './ko-source.ts';
import { EXAMPLES_FILE } from '../knowledge-object/worked-examples.ts';
import type { WorkedExample } from '../knowledge-object/worked-examples.ts';

export function authorWarnings(ko: LoadedKo, source: KoSource, examples: readonly WorkedExample[]): Finding[] {
  return [
    ...metadataWarnings(ko, source),
    ...ko.services.flatMap((each) => serviceWarnings(ko, each)),
    ...exampleWarnings(ko, source, examples),
  ];
}

function metadataWarnings({ details, key, declared }: LoadedKo, { files }: KoSource): Finding[] {
  const found: Finding[] = [];
  const warn = (field: string, message: string): unknown =>
    found.push(warning(METADATA_FILE, metadataProblem(details.text, field, message).line, message));
  // The second generation has no word for it.
  const { hasPayload = details.generation === 1 ? undefined : '' } = JSON.parse(details.text) as Record<
    string,
    unknown
  >;
  const entry = declared[0]?.entry.entry ?? 'src/index.js';
  if (hasPayload === undefined)
    warn('hasPayload', `hasPayload is missing: add "hasPayload": "${entry}", the main code file`);
  // Where the deployment names the same file, that it is missing is a problem already.
  else if (
    typeof hasPayload === 'string' &&
    hasPayload !== '' &&
    ![...files.keys(), entry].includes(withoutDot(hasPayload))
  )
    warn(
      'hasPayload',
      `hasPayload names ${hasPayload}, which is not in the package: name the main code file, such as ${entry}`,
    );
  if (details.generation === 1 && details.identifier === undefined)
    warn('identifier', `identifier is missing: add "identifier": "ark:/${key}"`);
  if (details.version === undefined) {
    const term = details.generation === 1 ? 'version' : 'dc:version';
    warn('version', `version is missing: add "${term}": "${key.split('/')[2] ?? ''}"`);
  }
  if (details.title === undefined) warn('title', 'title is missing: lists show the id in its place');
  if (details.description === undefined)
    warn('description', 'description is missing: say what the result means, and for whom');
  return found;
}

function serviceWarnings({ id }: LoadedKo, { service, deployment }: LoadedService): Finding[] {
  const { file } = service;
  const found: Finding[] = [];
  if (service.apiVersion === undefined) {
    found.push(
      warning(file, undefined, `info.version is missing: the version in the addresses of endpoints is ${id.version}`),
    );
  } else if (!isEndpointPart(service.apiVersion)) {
    const line = service.lines.apiVersion;
    found.push(
      warning(
        file,
        line,
        `info.version is "${service.apiVersion}", which cannot stand in an address: use letters, digits and . _ ~ -`,
      ),
    );
  }
  for (const [path, { methods, line }] of service.paths) {
    const entries = deployment.endpoints.get(path) ?? [];
    if (entries.length === 0) {
      found.push(
        warning(file, line, `${path} is described here but not deployed: add it to ${deployment.file}, or take it out`),
      );
      continue;
    }
    for (const [method, operation] of methods) {
      if (entries.every((each) => each.method !== method)) {
        found.push(
          warning(
            file,
            operation.line,
            `${method.toUpperCase()} ${path} is described here but not deployed: add it to ${deployment.file}, or take it out`,
          ),
        );
      }
      for (const type of operation.requestMediaTypes ?? []) {
        if (!/^[^/\s]+\/[^/\s]+$/.test(type.split(';')[0]?.trim() ?? ''))
          found.push(
            warning(
              file,
              operation.line,
              `"${type}" is no media type, so that no call can have it: write it like application/json`,
            ),
          );
      }
    }
  }
  return found;
}

function exampleWarnings(
  { services, library }: LoadedKo,
  { files }: KoSource,
  examples: readonly WorkedExample[],
): Finding[] {
  if (services.length === 0)
    return [warning(METADATA_FILE, undefined, 'it deploys no endpoint: an activator keeps it and runs nothing of it')];
  if (!files.has(EXAMPLES_FILE)) {
    return [
      warning(EXAMPLES_FILE, undefined, 'there are no worked examples: add calls and the answers they must give'),
    ];
  }
  if (library !== undefined) return [];
  const tried = new Set(examples.map(({ endpoint }) => endpoint));
  return services.flatMap(({ deployment: { file, endpoints } }) =>
    [...endpoints].flatMap(([path, [entry]]) =>
      tried.has(path) ? [] : [warning(file, entry?.line, `${path} has no worked example: add one to ${EXAMPLES_FILE}`)],
    ),
  );
}
