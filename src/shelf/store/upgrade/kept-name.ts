/** The name of a file in `kept/` says what it is of, so that nothing need be opened to know what is kept. */
import { koKey, type KoId } from '../../../knowledge-object/id.ts';
import type { RemovedPackage } from '../../shelf.ts';
import { idOfPointerName } from '../shelf-layout.ts';

/** A package that was deleted or replaced and is kept. */
export interface KeptPackage extends RemovedPackage {
  readonly name: string;
  /** Its folder below `objects/`; undefined for a folder of a person, which lies in `.removed/`. */
  readonly folder: string | undefined;
}

const NAME = /^(\d{15})\.(deleted|replaced)\.([0-9a-f]{64})\.([0-9a-f]{64}-[0-9a-f-]{36}|exploded)\.json$/;
const EXPLODED = 'exploded';

/** Undefined for a name that was not given here. */
export function parseKeptName(id: KoId, name: string): KeptPackage | undefined {
  const [, time, why, digest, folder] = NAME.exec(name) ?? [];
  if (time === undefined || digest === undefined || (why !== 'deleted' && why !== 'replaced')) return undefined;
  return {
    id,
    name,
    digest,
    why,
    removed: new Date(Number(time)),
    folder: folder === EXPLODED ? undefined : folder,
  };
}

/** Of a folder in `kept/`, by its name; undefined where it is of no KO. */
export const idOfKept = (name: string): KoId | undefined => {
  const id = idOfPointerName(name);
  return id !== undefined && koKey(id).replaceAll('/', '-') === name ? id : undefined;
};
