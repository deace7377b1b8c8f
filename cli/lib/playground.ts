/** Keeps an activator as the files of a folder are. */
import { join } from 'node:path';
import { koKey, parseKoId } from '../../src/knowledge-object/id.ts';
import type { KoId } from '../../src/knowledge-object/id.ts';
import { problem } from './findings.ts';
import type { Finding } from './findings.ts';
import { inspect } from './inspect.ts';
import type { Inspection } from './inspect.ts';
import type { KoSource } from './ko-source.ts';
import type { LocalActivator } from './local-activator.ts';
import { Mirror } from './mirror.ts';
import { stampOf } from './played-folders.ts';

/** One knowledge object that was looked at again. */
export interface Change {
  readonly inspection: Inspection;
  /** What is wrong with the package beside its endpoints. */
  readonly findings: readonly Finding[];
  /** It was not served before. */
  readonly isNew: boolean;
  /** Serves on as it was before, since what was saved cannot be imported. */
  readonly keptAsBefore: boolean;
  /** When the last of its files was saved, in epoch milliseconds. */
  readonly saved: number;
}

export interface Changes {
  readonly changed: readonly Change[];
  /** Keys of knowledge objects that are no longer there. */
  readonly gone: readonly string[];
}

interface Played {
  readonly mirror: Mirror;
  /** Of the files when they were last looked at. */
  stamp: string;
  /** `<naan>/<name>/<version>` of what is served; undefined when nothing could be so far. */
  key: string | undefined;
}

export class Playground {
  /** By the place of the folder. */
  readonly #played = new Map<string, Played>();
  #made = 0;

  /** Brings the shelf to what the folders hold; nothing is activated yet. */
  async update(shelf: string, sources: ReadonlyMap<string, KoSource>): Promise<Changes> {
    const gone: string[] = [];
    for (const [home, played] of this.#played) {
      if (sources.has(home)) continue;
      this.#played.delete(home);
      await played.mirror.remove();
      if (played.key !== undefined) gone.push(played.key);
    }
    const changed: Change[] = [];
    for (const [home, source] of sources) {
      const played = this.#played.get(home) ?? this.#add(home, shelf);
      const stamp = stampOf(source);
      if (stamp === played.stamp) continue;
      played.stamp = stamp;
      const { change, left } = await this.#take(home, played, source);
      changed.push(change);
      if (left !== undefined) gone.push(left);
    }
    return { changed, gone: gone.filter((key) => ![...this.#played.values()].some((each) => each.key === key)) };
  }

  #add(home: string, shelf: string): Played {
    const played = { mirror: new Mirror(join(shelf, `ko-${this.#made++}`)), stamp: '', key: undefined };
    this.#played.set(home, played);
    return played;
  }

  async #take(home: string, played: Played, source: KoSource): Promise<{ change: Change; left?: string }> {
    const inspection = await inspect(source);
    const { ko } = inspection;
    const twin = ko === undefined ? undefined : this.#servedAs(ko.key, home);
    const findings = [...inspection.findings, ...(twin === undefined ? [] : [twinProblem(ko?.key ?? '', twin)])];
    const isNew = played.key === undefined;
    const saved = Math.max(...[...source.files.values()].map((file) => file.saved));
    if (ko === undefined || twin !== undefined) {
      // Looked at again as soon as anything changes, such as its twin.
      if (twin !== undefined) played.stamp = '';
      return { change: { inspection, findings, isNew, keptAsBefore: !isNew, saved } };
    }
    const { key: before } = played;
    played.key = ko.key;
    await played.mirror.update(source.folder, source.files);
    const change = { inspection, findings, isNew, keptAsBefore: false, saved };
    return before === undefined || before === ko.key ? { change } : { change, left: before };
  }

  /** The place of another folder that is served under this id. */
  #servedAs(key: string, home: string): string | undefined {
    return [...this.#played].find(([other, played]) => other !== home && played.key === key)?.[0];
  }
}

const twinProblem = (key: string, other: string): Finding =>
  problem(
    'metadata.json',
    undefined,
    `@id is ${key}, as in ${other}, which is served: give one of them another version or name`,
  );

/** Loads and activates what changed. */
export async function activateChanges({ app }: LocalActivator, { changed, gone }: Changes): Promise<void> {
  const served = changed.flatMap(({ inspection, keptAsBefore }) =>
    inspection.ko === undefined || keptAsBefore ? [] : [inspection.ko.id],
  );
  const left = gone.map((key) => parseKoId(key)).filter((id): id is KoId => id !== undefined);
  if (served.length + left.length > 0) await app.activator.reloadImported([...served, ...left]);
}

export const nameOf = ({ inspection: { metadata, source } }: Change): string =>
  metadata === undefined ? source.label : koKey(metadata.id);
