/** What a `package.json` asks for. */
import { posix } from 'node:path';
import { activationFailed } from '../packages/errors.ts';

export interface Manifest {
  /** Whether there is anything to install. */
  readonly needsInstall: boolean;
  /** Whether it depends on files of the knowledge object itself. */
  readonly usesOwnFiles: boolean;
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
  };
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const record = (value: unknown): Record<string, unknown> => (isRecord(value) ? value : {});
