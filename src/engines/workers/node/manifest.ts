/** What a `package.json` asks for. */
import { posix } from 'node:path';
import { activationFailed } from '../packages/errors.ts';

export interface Manifest {
  /** Whether there is anything to install. */
  readonly needsInstall: boolean;
  /** Whether it depends on files of the knowledge object itself. */
  readonly usesOwnFiles: boolean;
  /** Names of what it takes from repositories of git. */
  readonly fromGit: readonly string[];
}

/** @throws ActivationFailure where it is not a manifest or reaches out of the knowledge object. */
export function parseManifest(text: string, path: string): Manifest {
  let manifest: unknown;
  try {
    manifest = JSON.parse(text);
  } catch (error) {
    throw activationFailed(`${path} is not valid JSON: ${(error as Error).message}`);
  }
  if (!isRecord(manifest)) throw activationFailed(`${path} is not a JSON object`);
  const wanted = { ...record(manifest['optionalDependencies']), ...record(manifest['dependencies']) };
  const local = Object.entries(wanted).filter(([, spec]) => /^(file:|link:|\.|\/|~\/)/.test(String(spec)));
  for (const [name, spec] of local) {
    const target = posix.normalize(String(spec).replace(/^(file|link):(\/\/)?/, ''));
    if (/^(\/|~|\.\.(\/|$))/.test(target)) {
      throw activationFailed(`The dependency ${name} of ${path} is outside of the knowledge object`);
    }
  }
  return {
    needsInstall: Object.keys(wanted).length > 0,
    usesOwnFiles: local.length > 0 || 'workspaces' in manifest,
    fromGit: Object.entries(wanted).flatMap(([name, spec]) => (isGit(String(spec)) ? [name] : [])),
  };
}

/** npm prepares what comes from git by the code in it, while the network is there. @throws ActivationFailure. */
export function refuseGit({ fromGit }: Manifest, path: string, permission: string, lock = ''): void {
  const [name] = fromGit;
  if (name === undefined && !/"resolved":\s*"git[+:@]/.test(lock)) return;
  const what = name === undefined ? `A dependency of ${path}` : `The dependency ${name} of ${path}`;
  throw activationFailed(
    `${what} comes from git, and may be built while the network is open: take it from a registry; ${permission} permits that`,
  );
}

/** `git+ssh://…`, `github:user/repository`, `user/repository#branch`, `https://host/repository.git`. */
const isGit = (spec: string): boolean =>
  /^(git[+:@]|github:|gitlab:|bitbucket:|gist:)|\.git(#|$)/.test(spec) || /^[\w.-]+\/[\w.-]+(#|$)/.test(spec);

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const record = (value: unknown): Record<string, unknown> => (isRecord(value) ? value : {});
