/** What is active keeps its files, also where nobody has asked for them yet. */
import type { KoId } from '../knowledge-object/id.ts';
import type { Shelf } from '../shelf/shelf.ts';

/** From now on `hold` comes before each change of this shelf. */
export function holdBeforeChanges(shelf: Shelf, hold: (id: KoId) => Promise<void>): void {
  const stage = shelf.stage.bind(shelf);
  shelf.stage = async () => {
    const staging = await stage();
    const commit = staging.commit.bind(staging);
    staging.commit = async (id) => {
      await hold(id);
      return commit(id);
    };
    return staging;
  };
  const replaceMetadata = shelf.replaceMetadata.bind(shelf);
  shelf.replaceMetadata = async (id, ...rest) => {
    await hold(id);
    return replaceMetadata(id, ...rest);
  };
  const remove = shelf.remove.bind(shelf);
  shelf.remove = async (id, ...rest) => {
    await hold(id);
    return remove(id, ...rest);
  };
  const restore = shelf.restore.bind(shelf);
  shelf.restore = async (id, ...rest) => {
    await hold(id);
    return restore(id, ...rest);
  };
}
