/**
 * Rule 2 of the specification: "a KO whose metadata ids, endpoint path/method or code location disagree between its
 * metadata, service descriptor and deployment descriptor does not run."
 */
import type { DeploymentEntry } from '../knowledge-object/descriptors/deployment.ts';
import { koKey, parseArk, parseKoId } from '../knowledge-object/id.ts';
import type { Engine } from '../engines/engine.ts';
import type { LoadedKo } from './loaded-ko.ts';

/** Why no endpoint of the KO may run; undefined when its ids and its address agree. */
export function koDisagreement(ko: LoadedKo): string | undefined {
  const { details, service } = ko;
  const stored = ko.key;
  if (koKey(details.id) !== stored)
    return `@id in metadata.json is ${koKey(details.id)}, but the knowledge object is on the shelf as ${stored}`;
  if (details.identifier !== undefined) {
    const named = parseArk(details.identifier) ?? parseKoId(details.identifier);
    if (named === undefined || koKey(named) !== stored) {
      return `identifier in metadata.json is ${details.identifier}, but @id is ${stored}: expected ark:/${stored}`;
    }
  }
  if (details.version !== undefined && details.version !== ko.id.version) {
    return `version in metadata.json is ${details.version}, but @id ends with ${ko.id.version}`;
  }
  return addressDisagreement(ko, service.servers[0]);
}

function addressDisagreement(ko: LoadedKo, address: string | undefined): string | undefined {
  const { service } = ko;
  const base = `/${ko.id.naan}/${ko.id.name}`;
  const expected = `expected ${base} or ${base}/${service.apiVersion ?? '<info.version>'}`;
  if (address === undefined) return `${service.file} has no servers: add "servers: [{ url: ${base} }]"`;
  const path = pathOf(address);
  const allowed = [base, ...(service.apiVersion === undefined ? [] : [`${base}/${service.apiVersion}`])];
  if (path !== undefined && allowed.includes(path)) return undefined;
  return `servers[0].url in ${service.file} is ${address}: ${expected}`;
}

function pathOf(address: string): string | undefined {
  const path = address.startsWith('/') ? address : URL.parse(address)?.pathname;
  return path?.replace(/\/+$/, '');
}

/** Why this endpoint may not run; undefined when the descriptors agree on it. */
export function endpointDisagreement(
  ko: LoadedKo,
  entry: DeploymentEntry,
  engines: ReadonlyMap<string, Engine>,
): string | undefined {
  if (entry.problem !== undefined) return entry.problem;
  const { service, deployment } = ko;
  const at = `${deployment.file} line ${entry.line}`;
  const method = entry.method.toUpperCase();
  const declared = service.paths.get(entry.path);
  if (declared === undefined) {
    const known = [...service.paths.keys()].join(', ') || 'none';
    return `${entry.path} (${at}) is not among the paths of ${service.file}, which are: ${known}`;
  }
  if (!declared.methods.has(entry.method)) {
    const known = [...declared.methods.keys()].map((each) => each.toUpperCase()).join(', ') || 'none';
    return `${method} ${entry.path} (${at}) is not in ${service.file}, which has for this path: ${known}`;
  }
  const engine = engines.get(entry.engine);
  if (engine === undefined) {
    return `engine ${entry.engine} (${at}) is not known here; engines: ${[...engines.keys()].join(', ')}`;
  }
  if (engine.method !== entry.method) {
    return `${method} ${entry.path} (${at}): endpoints of engine ${engine.name} use ${engine.method.toUpperCase()}`;
  }
  const missing = [...entry.artifacts, entry.entry].find((path) => !ko.package.files.has(path));
  return missing === undefined ? undefined : `artifact ${missing} (${at}) is not in the package`;
}
