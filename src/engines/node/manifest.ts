/** What a `package.json` asks for. npm gets one that is written here from the values that are known, never the author's text. */
import { activationFailed } from '../supervisor/packages/errors.ts';
import { isPackageName, isRange } from './dependency-specs.ts';
import type { DependencySpecs, SpecPlace } from './dependency-specs.ts';

/** The fields of a `package.json` that npm gets. */
export type Fields = Record<string, unknown>;

/** @throws ActivationFailure where it is no object of JSON. */
export function parseObject(text: string, path: string): Fields {
  let value: unknown;
  try {
    value = JSON.parse(text.replace(/^\ufeff/, ''));
  } catch (error) {
    throw activationFailed(`${path} is not valid JSON: ${(error as Error).message}`);
  }
  if (!isRecord(value)) throw activationFailed(`${path} is not a JSON object`);
  return value;
}

export const needsInstall = (manifest: Fields): boolean =>
  Object.keys({ ...record(manifest['optionalDependencies']), ...record(manifest['dependencies']) }).length > 0;

/** What npm gets of the `package.json` that is installed. @throws ActivationFailure. */
export function manifestForNpm(manifest: Fields, specs: DependencySpecs, place: SpecPlace): Fields {
  const { name, version, overrides, workspaces } = manifest;
  return {
    private: true,
    ...(typeof name === 'string' && isPackageName(name) && { name }),
    ...(typeof version === 'string' && isRange(version) && { version }),
    ...dependenciesForNpm(manifest, specs, place),
    ...(isRecord(overrides) && { overrides: overridesForNpm(overrides, specs, place, 0) }),
    ...(workspaces !== undefined && { workspaces: workspacesForNpm(workspaces, specs, place) }),
  };
}

/**
 * A `package.json` of another package among the artifacts, which programs read too: all of it, without what is only for
 * its development, and with the dependencies as npm gets them.
 */
export function otherManifestForNpm(manifest: Fields, specs: DependencySpecs, place: SpecPlace): Fields {
  const rest = Object.entries(manifest).filter(
    ([name]) => ![...DEPENDENCIES, 'devDependencies', 'overrides'].includes(name),
  );
  return { ...Object.fromEntries(rest), ...dependenciesForNpm(manifest, specs, place) };
}

const DEPENDENCIES: readonly string[] = [
  'dependencies',
  'optionalDependencies',
  'peerDependencies',
  'peerDependenciesMeta',
];

/** The dependencies of a package, also as lock files have them. */
export function dependenciesForNpm(of: Fields, specs: DependencySpecs, place: SpecPlace): Fields {
  const read: Fields = {};
  for (const field of DEPENDENCIES.slice(0, 3)) {
    if (of[field] === undefined) continue;
    const wanted = Object.entries(record(of[field]));
    read[field] = Object.fromEntries(wanted.map(([name, spec]) => [name, specs.add(name, spec, place)]));
  }
  const optional = Object.entries(record(of['peerDependenciesMeta'])).filter(
    ([name, meta]) => isPackageName(name) && record(meta)['optional'] === true,
  );
  if (optional.length > 0)
    read['peerDependenciesMeta'] = Object.fromEntries(optional.map(([name]) => [name, { optional: true }]));
  return read;
}

const MOST_NESTED = 20;

function overridesForNpm(overrides: Fields, specs: DependencySpecs, place: SpecPlace, depth: number): Fields {
  const read = Object.entries(overrides).map(([key, value]): [string, unknown] => {
    const [, name = '', range = ''] = /^(@?[^@]+)(?:@(.*))?$/.exec(key) ?? [];
    if (key !== '.' && !(isPackageName(name) && isRange(range)))
      throw activationFailed(`The override ${key.slice(0, 100)} of ${place.file} is not understood`);
    if (isRecord(value)) {
      if (depth > MOST_NESTED) throw activationFailed(`The overrides of ${place.file} are nested too deeply`);
      return [key, overridesForNpm(value, specs, place, depth + 1)];
    }
    // The version that another dependency has.
    const isReference = typeof value === 'string' && value.startsWith('$') && isPackageName(value.slice(1));
    return [key, isReference ? value : specs.add(key === '.' ? 'override' : name, value, place)];
  });
  return Object.fromEntries(read);
}

function workspacesForNpm(workspaces: unknown, specs: DependencySpecs, place: SpecPlace): string[] {
  const patterns: unknown = isRecord(workspaces) ? workspaces['packages'] : workspaces;
  if (!Array.isArray(patterns) || !patterns.every((each) => typeof each === 'string'))
    throw activationFailed(`The workspaces of ${place.file} are no list of folders`);
  return patterns.map((each) => specs.addPath(each, `The workspace ${each.slice(0, 100)} of ${place.file}`, place));
}

export const isRecord = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const record = (value: unknown): Fields => (isRecord(value) ? value : {});
