/** A deployment descriptor with the paths of its artifacts as the package has them. */
import { posix } from 'node:path';
import { escapeForMessage } from './escape-for-message.ts';
import type { Deployment, DeploymentEntry } from './descriptors/deployment.ts';

type Files = Pick<ReadonlyMap<string, unknown>, 'has' | 'keys'>;

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
