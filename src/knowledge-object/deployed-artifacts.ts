/** A deployment descriptor with the paths of its artifacts as the package has them. */
import { posix } from 'node:path';
import type { Deployment, DeploymentEntry } from './descriptors/deployment.ts';

type Files = Pick<ReadonlyMap<string, unknown>, 'has' | 'keys'>;

/** `folder`: "artifact relative to the deployment's folder"; one that is only there from the root is meant so. */
export function withPackagePaths(deployment: Deployment, folder: string, files: Files): Deployment {
  const entries = [...deployment.endpoints];
  if (folder === '' && entries.every(([, each]) => each.every(({ module }) => module === undefined))) return deployment;
  const placed = (path: string): string => {
    const here = posix.join(folder, path);
    return !files.has(here) && files.has(path) ? path : here;
  };
  const inPackage = (entry: DeploymentEntry): DeploymentEntry => {
    if (entry.module !== undefined && entry.artifacts.length === 0)
      return { ...entry, artifacts: filesIn(folder, files) };
    return { ...entry, artifacts: entry.artifacts.map(placed), entry: entry.entry === '' ? '' : placed(entry.entry) };
  };
  return { ...deployment, endpoints: new Map(entries.map(([path, each]) => [path, each.map(inPackage)])) };
}

/** "The folder of the deployment is an installable package": what it is made of. */
const filesIn = (folder: string, files: Files): string[] =>
  [...files.keys()].filter((path) => folder === '' || path.startsWith(`${folder}/`));
