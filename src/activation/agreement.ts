/**
 * Rule 2 of the specification: "a KO whose metadata ids, endpoint path/method or code location disagree between its
 * metadata, service descriptor and deployment descriptor does not run."
 */
import type { Engine } from '../engines/engine.ts';
import type { DeploymentEntry } from '../knowledge-object/descriptors/deployment.ts';
import type { Service } from '../knowledge-object/descriptors/service.ts';
import { isEndpointPart, koKey, parseArk, parseKoId } from '../knowledge-object/id.ts';
import { type KoMetadata, metadataProblem } from '../knowledge-object/metadata.ts';
import { plainAtId } from '../knowledge-object/places.ts';
import type { PackageProblem } from '../lib/errors.ts';
import { escapeForMessage, MAX_URL_CHARACTERS, someOf, withoutEndSlashes } from '../lib/text.ts';
import { missingArtifact } from '../shelf/import/check-package.ts';
import type { LoadedKo, LoadedService } from './loaded-ko.ts';

/** Why no endpoint of this service may run; undefined when the ids of the KO and its address agree. */
export const koDisagreement = (ko: LoadedKo, from: LoadedService): string | undefined =>
  koProblems(ko, [from])[0]?.message;

/** Why this endpoint may not run; undefined when the descriptors agree on it. */
export const endpointDisagreement = (
  from: LoadedService,
  entry: DeploymentEntry,
  engines: Engines,
): string | undefined => endpointProblems(from, entry, engines)[0]?.message;

/** In what the package disagrees with itself, whichever engines there are. */
export function disagreementIn(ko: LoadedKo): PackageProblem | undefined {
  const [problem] = koProblems(ko, ko.reading.services);
  return problem ?? ko.reading.declared.flatMap(({ from, entry }) => endpointProblems(from, entry))[0];
}

/** Why no engine here runs the endpoint; undefined where one does. */
export function engineProblem(
  from: LoadedService,
  entry: DeploymentEntry,
  engines: Engines,
): PackageProblem | undefined {
  const engine = engines.get(entry.engine);
  if (engine?.method === entry.method) return undefined;
  const { file } = from.deployment;
  const at = `${file} line ${entry.line}`;
  const message =
    engine === undefined
      ? `engine ${entry.engine} (${at}) is not known here; engines: ${someOf(engines.keys())}`
      : `${entry.method.toUpperCase()} ${entry.path} (${at}): endpoints of engine ${engine.name} use ${engine.method.toUpperCase()}`;
  return { message, file, line: entry.line };
}

type Engines = Pick<ReadonlyMap<string, Pick<Engine, 'name' | 'method'>>, 'get'> & { keys(): Iterable<string> };

/** Why the time that an endpoint asks for is not given; undefined where it is. `most`: milliseconds. */
export function timeoutProblem(
  from: Pick<LoadedService, 'deployment'>,
  entry: DeploymentEntry,
  most: number,
): string | undefined {
  const { timeout = 0 } = entry;
  if (timeout <= most) return undefined;
  const { path, line } = entry;
  const { file } = from.deployment;
  return `the timeout of ${path} (${file} line ${line}) is ${inSeconds(timeout)}, which is more than the ${inSeconds(most)} that the service allows (--max-endpoint-timeout)`;
}

const inSeconds = (milliseconds: number): string => `${milliseconds / 1000} s`;

/** All in which the ids of a KO and the addresses of its services disagree. */
export function koProblems(ko: LoadedKo, services: readonly LoadedService[] = ko.services): PackageProblem[] {
  const { details } = ko;
  const { identifiers, version } = details.claims;
  const stored = ko.key;
  const problems: PackageProblem[] = [];
  const report = (field: string, message: string): unknown =>
    problems.push(metadataProblem(details.text, field, message));
  if (koKey(details.id) !== stored) {
    report(
      '@id',
      `@id in metadata.json is ${bothNames(details)}, but the knowledge object is on the shelf as ${stored}`,
    );
  }
  const [identifier] = identifiers;
  if (identifier !== undefined && !identifiers.some((each) => namedBy(each) === stored)) {
    report(
      'identifier',
      `identifier in metadata.json is ${escapeForMessage(identifier)}, but @id is ${stored}: expected ark:/${stored}`,
    );
  }
  if (version !== undefined && version !== ko.id.version) {
    report(
      'version',
      `version in metadata.json is ${escapeForMessage(version)}, but @id ends with ${ko.id.version}: make them the same`,
    );
  }
  for (const { service } of new Map(services.map((each) => [each.service.file, each])).values()) {
    const inService = (message: string | undefined, line: number | undefined): unknown =>
      message === undefined
        ? 0
        : problems.push({ message, file: service.file, ...(line === undefined ? {} : { line }) });
    inService(apiVersionProblem(service), service.lines.apiVersion);
    inService(addressDisagreement(ko, service), service.lines.servers);
  }
  return problems;
}

/** The place that an identifier of the first generation's form names. */
function namedBy(identifier: string): string | undefined {
  const id = parseArk(identifier) ?? parseKoId(identifier);
  return id === undefined ? undefined : koKey(id);
}

/** The `@id`, and the place that it means where that is another text. */
const bothNames = ({ atId, id }: KoMetadata): string =>
  plainAtId(atId) === koKey(id) ? koKey(id) : `${escapeForMessage(atId)}, which is ${koKey(id)}`;

/** "`info.version` of the service descriptor is the API version", and a part of the endpoint's path. */
function apiVersionProblem({ apiVersion, file, lines }: Service): string | undefined {
  if (apiVersion === undefined || isEndpointPart(apiVersion)) return undefined;
  const at = lines.apiVersion === undefined ? file : `${file} line ${lines.apiVersion}`;
  return `info.version (${at}) is '${escapeForMessage(apiVersion)}', which is no API version: use 1 to 64 letters, digits and . _ ~ -`;
}

function addressDisagreement({ id, details }: LoadedKo, { servers, apiVersion, file }: Service): string | undefined {
  const [address] = servers;
  const base = `/${id.naan}/${id.name}`;
  const { addresses } = details.claims;
  const expected = [`${base} or ${base}/${apiVersion ?? '<info.version>'}`, ...addresses].join(' or ');
  if (address === undefined) return `${file} has no servers: add "servers: [{ url: ${base} }]"`;
  const path = pathOf(address);
  const allowed = [base, ...(apiVersion === undefined ? [] : [`${base}/${apiVersion}`])];
  if (path !== undefined && (allowed.includes(path) || isAmong(addresses, path))) return undefined;
  return `servers[0].url in ${file} is ${escapeForMessage(address)}: expected ${expected}`;
}

/** An `@id` may hold what an address has in another spelling. */
const isAmong = (addresses: readonly string[], path: string): boolean =>
  addresses.length > 0 && addresses.map(decoded).includes(decoded(path));

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function pathOf(address: string): string | undefined {
  if (address.length > MAX_URL_CHARACTERS) return undefined;
  const path = address.startsWith('/') ? address : URL.parse(address)?.pathname;
  return path === undefined ? undefined : withoutEndSlashes(path);
}

/** All in which the descriptors disagree on an endpoint; without `engines`, whichever there are. */
export function endpointProblems(from: LoadedService, entry: DeploymentEntry, engines?: Engines): PackageProblem[] {
  const { service, deployment, missing = [] } = from;
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
  const noEngine = engines && engineProblem(from, entry, engines);
  if (noEngine !== undefined) problems.push(noEngine);
  for (const path of missing)
    if (path === entry.entry || entry.artifacts.includes(path))
      problems.push(missingArtifact(path, deployment.file, entry.line));
  return problems;
}
