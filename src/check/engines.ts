/** The engines that a knowledge object may ask for, as its author sees them. */
import type { Engine } from '../engines/engine.ts';
import { ENGINES as ROWS } from '../engines/table.ts';
import type { Deployment, DeploymentEntry } from '../knowledge-object/descriptors/deployment.ts';
import { wordLike } from '../lib/did-you-mean.ts';
import { problem, warning } from './findings.ts';
import type { Finding } from './findings.ts';

/** `builtIn`: part of the activator; the other engines need their workers, which are started on demand. */
export type EngineFacts = Pick<Engine, 'name' | 'method' | 'builtIn'>;

export const ENGINES: ReadonlyMap<string, EngineFacts> = new Map(
  ROWS.toSorted((a, b) => (a.name < b.name ? -1 : 1)).map((row) => [row.name, row]),
);

export const ENGINE_NAMES: readonly string[] = [...ENGINES.keys()];

/** The engine that was probably meant by a name that is none. */
export const engineLike = (name: string): string | undefined => wordLike(name, ENGINE_NAMES);

/** What to know of an endpoint whose engine is none of these, though no slip of the pen either; else undefined. */
export const foreignEngine = ({ engine, path }: Pick<DeploymentEntry, 'engine' | 'path'>): string | undefined =>
  engine === '' || ENGINES.has(engine) || engineLike(engine) !== undefined
    ? undefined
    : `${path} asks for the engine ${engine}, which is none of ${ENGINE_NAMES.join(', ')}: it runs only where a runtime for it has registered`;

/**
 * Finds the endpoints that ask for such an engine.
 * @param expected names of those that will be there; undefined where that is not known, which is worth a warning only.
 */
export function foreignEngines({ file, endpoints }: Deployment, expected?: readonly string[]): Finding[] {
  const say = expected === undefined ? warning : problem;
  return [...endpoints.values()].flat().flatMap((entry) => {
    const message = expected?.includes(entry.engine) === true ? undefined : foreignEngine(entry);
    return message === undefined ? [] : [say(file, entry.line, message)];
  });
}
