/** A KO that one client changes and many look at, each of whose answers is held to what may be there at that moment. */
import { createHash } from 'node:crypto';
import type { Client } from '../../acceptance/support/knowledge-grid.ts';
import { pathOf } from '../../acceptance/support/knowledge-grid.ts';
import { javascriptKo, zipOf } from '../../acceptance/support/ko.ts';
import type { Ko } from '../../acceptance/support/ko.ts';
import type { Random } from '../../support/random.ts';
import { Possible } from './possible.ts';
import type { Outcome } from './possible.ts';

/** Which version, by a number that its code and its metadata have; undefined where there is none. */
export type Version = number | undefined;
type Change = 'import' | 'reload' | 'delete';

/** What somebody saw. */
export interface Seen {
  readonly version: Version;
  readonly began: number;
  readonly ended: number;
  /** Of the node that answered, where it is known. */
  readonly node?: string | undefined;
}

/** Errors after which nothing was changed, in the words of the contract. */
const REFUSED =
  /The database of the shelf (?:cannot be reached|can only be read)|refused the change; nothing was changed|The shelf cannot be read at the moment/;

let versions = 0;

export class WatchedKo {
  readonly name: string;
  readonly counts: Record<Change, Record<Outcome, number>>;
  readonly problems: string[] = [];
  readonly #naan: string;
  readonly #shelf: Possible<Version>;
  readonly #active: Possible<Version>;

  private constructor(naan: string, name: string, first: number) {
    this.#naan = naan;
    this.name = name;
    this.#shelf = new Possible<Version>(first);
    this.#active = new Possible<Version>(first);
    const none = (): Record<Outcome, number> => ({ acknowledged: 0, unknown: 0, refused: 0 });
    this.counts = { import: none(), reload: none(), delete: none() };
  }

  /** Imports and activates it. */
  static async begin(service: Client, naan: string, name: string): Promise<WatchedKo> {
    const first = ++versions;
    await service.serve(koOf(naan, name, first));
    return new WatchedKo(naan, name, first);
  }

  get id(): string {
    return koOf(this.#naan, this.name, 0).id;
  }

  get path(): string {
    return pathOf(koOf(this.#naan, this.name, 0));
  }

  /** That of a package of it, as `KGrid-Package-Digest` has it. */
  digestOf(version: number): string {
    return packageDigest(koOf(this.#naan, this.name, version));
  }

  /** Changes it once through any node. */
  async change(service: Client, random: Random): Promise<void> {
    const turn = random.below(10);
    const change = turn < 5 ? 'import' : turn < 9 ? 'reload' : 'delete';
    const end = this.#begin(change);
    this.counts[change][end(await this.#ask(service, change))]++;
  }

  /** What is active, as it may be called. */
  active(began: number, ended: number): ReadonlySet<Version> {
    return this.#active.during(began, ended);
  }

  shelf(began: number, ended: number): ReadonlySet<Version> {
    return this.#shelf.during(began, ended);
  }

  #next = 0;

  #begin(change: Change): (answer: { status: number; text: string } | undefined) => Outcome {
    this.#next = change === 'import' ? ++versions : 0;
    const wanted = { import: 200, reload: 303, delete: 204 }[change];
    const target = change === 'reload' ? this.#active : this.#shelf;
    const end = target.begin(
      change === 'reload' ? this.#shelf.now() : change === 'import' ? [this.#next] : [undefined],
    );
    return (answer) => {
      // What is not there is as it would be after the change.
      const isGone = change !== 'import' && answer?.status === 404;
      const isDone = answer?.status === wanted || isGone;
      const isRefused = answer?.status === 503 && REFUSED.test(answer.text);
      const outcome: Outcome = isDone ? 'acknowledged' : isRefused ? 'refused' : 'unknown';
      if (outcome === 'unknown' && answer !== undefined && ![500, 502, 503, 504].includes(answer.status))
        this.problems.push(`${change} of ${this.name} was ${String(answer.status)}: ${answer.text.slice(0, 300)}`);
      if (answer?.status === 500) this.problems.push(`${change} of ${this.name} was 500: ${answer.text.slice(0, 300)}`);
      end(outcome);
      return outcome;
    };
  }

  async #ask(service: Client, change: Change): Promise<{ status: number; text: string } | undefined> {
    const ko = koOf(this.#naan, this.name, this.#next);
    try {
      if (change === 'import') return await service.importZip(await zipOf(ko.files));
      if (change === 'delete') return await service.delete(`/kos/${ko.id}`);
      return await service.get(`/actuator/activation/reload/${ko.id}`);
    } catch {
      return undefined;
    }
  }
}

function koOf(naan: string, name: string, version: number): Ko {
  const code = `function run() { return ${String(version)}; }`;
  return javascriptKo(code, { naan, name, metadata: { title: String(version) } });
}

function packageDigest({ files }: Ko): string {
  const sha256 = (content: string | Buffer): string => createHash('sha256').update(content).digest('hex');
  const lines = Object.keys(files)
    .sort()
    .map((path) => `${sha256(files[path] ?? '')}  ${path}\n`);
  return `sha256:${sha256(lines.join(''))}`;
}
