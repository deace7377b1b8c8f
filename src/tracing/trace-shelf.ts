/** Spans of what changes the shelf, and of the entries of manifests. */
import { koKey } from '../knowledge-object/id.ts';
import type { KoId } from '../knowledge-object/id.ts';
import { outcomeOf } from '../lib/errors.ts';
import { withoutCredentials } from '../lib/without-credentials.ts';
import type { AroundEntry } from '../shelf/manifest/manifest-run.ts';
import type { Shelf } from '../shelf/shelf.ts';
import type { Tracer } from './tracer.ts';

/** Runs work as a span of that name. */
export async function inSpan<T>(
  tracer: Tracer,
  name: string,
  facts: Readonly<Record<string, string>>,
  work: () => Promise<T>,
): Promise<T> {
  const span = tracer.start(name, { facts });
  let error: string | undefined;
  try {
    return await tracer.within(span, work);
  } catch (thrown) {
    error = outcomeOf(thrown);
    throw thrown;
  } finally {
    span.end(error);
  }
}

/** From now on the changes of this shelf are traced. */
export function traceShelf(tracer: Tracer, shelf: Shelf): void {
  const traced = <T>(what: string, id: KoId, work: () => Promise<T>): Promise<T> =>
    inSpan(tracer, `shelf ${what}`, { 'kgrid.ko': koKey(id), 'kgrid.shelf.type': shelf.type }, work);
  const stage = shelf.stage.bind(shelf);
  shelf.stage = async (author) => {
    const staging = await stage(author);
    const commit = staging.commit.bind(staging);
    staging.commit = (id) => traced('import', id, () => commit(id));
    return staging;
  };
  const replaceMetadata = shelf.replaceMetadata.bind(shelf);
  shelf.replaceMetadata = (id, ...rest) => traced('replace-metadata', id, () => replaceMetadata(id, ...rest));
  const remove = shelf.remove.bind(shelf);
  shelf.remove = (id, ...rest) => traced('delete', id, () => remove(id, ...rest));
  const restore = shelf.restore.bind(shelf);
  shelf.restore = (id, ...rest) => traced('restore', id, () => restore(id, ...rest));
}

export const traceEntries =
  (tracer: Tracer): AroundEntry =>
  async (location, work) => {
    const span = tracer.start('manifest entry', {
      facts: { 'kgrid.manifest.location': withoutCredentials(location).slice(0, MAX_LOCATION) },
    });
    const outcome = await tracer.within(span, work);
    if (outcome.id !== undefined) span.set({ 'kgrid.ko': koKey(outcome.id) });
    span.end(outcome.error === undefined ? undefined : outcomeOf(outcome.error));
    return outcome;
  };

const MAX_LOCATION = 300;
