/**
 * Rule 2 of the specification: "a KO whose metadata ids, endpoint path/method or code location disagree between its
 * metadata, service descriptor and deployment descriptor does not run."
 */
import type { DeploymentEntry } from '../knowledge-object/descriptors/deployment.ts';
import type { Engine } from '../engines/engine.ts';
import { isEndpointPart, koKey, parseArk, parseKoId } from '../knowledge-object/id.ts';
import { escapeForMessage } from '../knowledge-object/escape-for-message.ts';
import { metadataProblem } from '../knowledge-object/metadata.ts';
import type { PackageProblem } from '../lib/errors.ts';
import { MAX_URL_CHARACTERS, someOf, withoutEndSlashes } from '../lib/text.ts';
import { missingArtifact } from '../shelf/import/check-package.ts';
import type { LoadedKo } from './loaded-ko.ts';

/** Why no endpoint of the KO may run; undefined when its ids and its address agree. */
export const koDisagreement = (ko: LoadedKo): string | undefined => koProblems(ko)[0]?.message;

/** Why this endpoint may not run; undefined when the descriptors agree on it. */
export const endpointDisagreement = (ko: LoadedKo, entry: DeploymentEntry, engines: Engines): string | undefined =>
  endpointProblems(ko, entry, engines)[0]?.message;

type Engines = Pick<ReadonlyMap<string, Pick<Engine, 'name' | 'method'>>, 'get'> & { keys(): Iterable<string> };

/** All in which the ids and the address of a KO disagree. */
export function koProblems(ko: LoadedKo): PackageProblem[] {
  const { details, service } = ko;
  const stored = ko.key;
  const problems: PackageProblem[] = [];
  const report = (field: string, message: string): unknown =>
    problems.push(metadataProblem(details.text, field, message));
  if (koKey(details.id) !== stored) {
    report(
      '@id',
      `@id in metadata.json is ${koKey(details.id)}, but the knowledge object is on the shelf as ${stored}`,
    );
  }
  if (details.identifier !== undefined) {
    const named = parseArk(details.identifier) ?? parseKoId(details.identifier);
    if (named === undefined || koKey(named) !== stored) {
      report(
        'identifier',
        `identifier in metadata.json is ${escapeForMessage(details.identifier)}, but @id is ${stored}: expected ark:/${stored}`,
      );
    }
  }
  if (details.version !== undefined && details.version !== ko.id.version) {
    report(
      'version',
      `version in metadata.json is ${escapeForMessage(details.version)}, but @id ends with ${ko.id.version}: make them the same`,
    );
  }
  const inService = (message: string | undefined, line: number | undefined): unknown =>
    message === undefined ? 0 : problems.push({ message, file: service.file, ...(line === undefined ? {} : { line }) });
  inService(apiVersionProblem(ko), service.lines.apiVersion);
  inService(addressDisagreement(ko, service.servers[0]), service.lines.servers);
  return problems;
}

/** "`info.version` of the service descriptor is the API version", and a part of the endpoint's path. */
function apiVersionProblem({ service }: LoadedKo): string | undefined {
  const { apiVersion, file, lines } = service;
  if (apiVersion === undefined || isEndpointPart(apiVersion)) return undefined;
  const at = lines.apiVersion === undefined ? file : `${file} line ${lines.apiVersion}`;
  return `info.version (${at}) is '${escapeForMessage(apiVersion)}', which is no API version: use 1 to 64 letters, digits and . _ ~ -`;
}

function addressDisagreement(ko: LoadedKo, address: string | undefined): string | undefined {
  const { service } = ko;
  const base = `/${ko.id.naan}/${ko.id.name}`;
  const expected = `expected ${base} or ${base}/${service.apiVersion ?? '<info.version>'}`;
  if (address === undefined) return `${service.file} has no servers: add "servers: [{ url: ${base} }]"`;
  const path = pathOf(address);
  const allowed = [base, ...(service.apiVersion === undefined ? [] : [`${base}/${service.apiVersion}`])];
  if (path !== undefined && allowed.includes(path)) return undefined;
  return `servers[0].url in ${service.file} is ${escapeForMessage(address)}: ${expected}`;
}

function pathOf(address: string): string | undefined {
  if (address.length > MAX_URL_CHARACTERS) return undefined;
  const path = address.startsWith('/') ? address : URL.parse(address)?.pathname;
  return path === undefined ? undefined : withoutEndSlashes(path);
}

/** All in which the descriptors disagree on an endpoint. */
export function endpointProblems(ko: LoadedKo, entry: DeploymentEntry, engines: Engines): PackageProblem[] {
  const { service, deployment } = ko;
  const place = { file: deployment.file, line: entry.line };
  // What else is said of an entry that cannot be read would only follow from that.
  if (entry.problems.length > 0) return entry.problems.map((message) => ({ message, ...place }));
  const problems: PackageProblem[] = [];
  const at = `${deployment.file} line ${entry.line}`;
  const method = entry.method.toUpperCase();
  const declared = service.paths.get(entry.path);
  if (declared === undefined) {
    const known = someOf(service.paths.keys()) || 'none';
    problems.push({
      message: `${entry.path} (${at}) is not among the paths of ${service.file}, which are: ${known}`,
      ...place,
    });
  } else if (!declared.methods.has(entry.method)) {
    const known = [...declared.methods.keys()].map((each) => each.toUpperCase()).join(', ') || 'none';
    problems.push({
      message: `${method} ${entry.path} (${at}) is not in ${service.file}, which has for this path: ${known}`,
      ...place,
    });
  }
  const engine = engines.get(entry.engine);
  if (engine === undefined) {
    problems.push({
      message: `engine ${entry.engine} (${at}) is not known here; engines: ${someOf(engines.keys())}`,
      ...place,
    });
  } else if (engine.method !== entry.method) {
    problems.push({
      message: `${method} ${entry.path} (${at}): endpoints of engine ${engine.name} use ${engine.method.toUpperCase()}`,
      ...place,
    });
  }
  const missing = new Set([...entry.artifacts, entry.entry].filter((path) => !ko.package.files.has(path)));
  for (const path of missing) problems.push(missingArtifact(path, deployment.file, entry.line));
  return problems;
}
