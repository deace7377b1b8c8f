/** Folders whose id is that of what is served in their place: looked for only where something changed since. */
import { escapeForMessage } from '../../knowledge-object/escape-for-message.ts';
import { koKey } from '../../knowledge-object/id.ts';
import type { ChangeLog } from '../change-log.ts';
import type { ShelfDamage } from '../shelf.ts';
import type { ExplodedKo, ExplodedPackages } from './exploded-packages.ts';
import type { StoredKo } from './load-index.ts';
import { keyOf } from './package-content.ts';

type Serving = (key: string) => StoredKo | ExplodedKo | undefined;

export class Duplicates {
  readonly #exploded: ExplodedPackages;
  readonly #changes: ChangeLog;
  readonly #serving: Serving;
  readonly #found = new Map<string, readonly ShelfDamage[]>();
  #seen: { readonly revision: number; readonly folders: readonly ExplodedKo[] } | undefined;

  /** `serving`: what is served under a `koKey`. */
  constructor(exploded: ExplodedPackages, changes: ChangeLog, serving: Serving) {
    this.#exploded = exploded;
    this.#changes = changes;
    this.#serving = serving;
  }

  /** In the order of their folders. */
  list(): ShelfDamage[] {
    const { revision } = this.#changes;
    const { folders } = this.#exploded;
    const changed = this.#seen?.folders === folders ? this.#changes.since(this.#seen.revision) : undefined;
    this.#seen = { revision, folders };
    if (changed === undefined) this.#found.clear();
    for (const key of changed?.map(koKey) ?? folders.map(({ content }) => keyOf(content))) this.#lookAt(key);
    return [...this.#found.values()].flat().sort((a, b) => (a.where < b.where ? -1 : 1));
  }

  #lookAt(key: string): void {
    const serving = this.#serving(key);
    const hidden = serving === undefined ? [] : this.#exploded.foldersOf(key).filter((ko) => ko !== serving);
    if (serving === undefined || hidden.length === 0) return void this.#found.delete(key);
    const other = 'place' in serving ? `the folder ${serving.where}` : 'a package that was imported';
    const its = atIdOf(serving);
    const causeFor = (ko: ExplodedKo): string =>
      atIdOf(ko) === its
        ? `its "@id" ${its} is that of ${other}; remove one of the two`
        : `its "@id" ${atIdOf(ko)} falls on the place ${key}, as does ${its} of ${other}; give one of the two another name or version`;
    this.#found.set(
      key,
      hidden.map((ko) => ({ where: ko.where, cause: causeFor(ko) })),
    );
  }
}

const atIdOf = ({ content: { entry } }: StoredKo | ExplodedKo): string =>
  escapeForMessage(entry.atId ?? koKey(entry.id));
