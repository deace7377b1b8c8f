/** A client of a well-behaved knowledge object and of the health, who calls all along and checks every answer. */
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { setTimeout as later } from 'node:timers/promises';
import type { Answer } from '../../acceptance/support/client.ts';
import type { Client } from '../../acceptance/support/knowledge-grid.ts';
import { pathOf } from '../../acceptance/support/knowledge-grid.ts';
import { javascriptKo } from '../../acceptance/support/ko.ts';
import type { Ko } from '../../acceptance/support/ko.ts';
import { ranOutOfTime } from '../../support/try-again.ts';
import { Pace } from './pace.ts';

/** Also tells whether anybody has changed its built-ins. */
const CODE = `
  const clean = () => [
    Object.keys(Object.prototype).length, Object.keys(Array.prototype).length, typeof globalThis.leaked, typeof ({}).polluted,
    String(JSON.stringify), String(Array.prototype[Symbol.iterator]), String(Function.prototype.call), String(Promise.prototype.then),
  ].join();
  const atFirst = clean();
  function run({ a, b, words }) {
    return { sum: a + b, words: [...words].reverse().join(" "), clean: clean() === atFirst && !atFirst.includes("leaked") };
  }`;

export const wellBehavedKo = (naan: string): Ko => javascriptKo(CODE, { naan, name: 'well' });

const PAUSE_MS = 30;
/** "No guest code can stop the activator answering `/health` within 1 s." */
const HEALTH_WITHIN_MS = 1000;
/** "… nor break another KO's requests for more than the recycle time." */
const ANSWER_WITHIN_MS = 1000;

interface Wait {
  readonly what: 'answer' | 'health';
  readonly began: number;
  readonly took: number;
  /** What was wrong, if anything. */
  readonly problem?: string;
  /** It was told to try again, or came to its limit. */
  readonly isOutOfTime: boolean;
}

class WrongAnswer extends Error {
  readonly isOutOfTime: boolean;

  constructor(answer: Answer) {
    super(`${answer.status}: ${answer.text}`);
    this.isOutOfTime = ranOutOfTime(answer);
  }
}

export class Companion implements Disposable {
  readonly #client: Client;
  readonly #ko: Ko;
  readonly #pace = new Pace();
  readonly #waits: Wait[] = [];
  readonly #loops: Promise<unknown>;
  #over = false;

  /** `ko`: served already, see `wellBehavedKo`. */
  constructor(client: Client, ko: Ko) {
    this.#client = client;
    this.#ko = ko;
    this.#loops = Promise.all([
      this.#repeat('answer', () => this.#call()),
      this.#repeat('answer', () => this.#call()),
      this.#repeat('health', () => this.#askHealth()),
    ]);
  }

  get pace(): Pace {
    return this.#pace;
  }

  /** Ends the calls and fails unless each was answered right and in time. */
  async assertUndisturbed(): Promise<void> {
    this.#over = true;
    await this.#loops;
    const problems = this.#waits.flatMap((wait) => this.#problemOf(wait) ?? []);
    assert.deepEqual(problems.slice(0, 20), [], `of ${this.#waits.length} answers`);
    const right = this.#waits.filter(({ problem }) => problem === undefined).length;
    assert.ok(right > 5, `only ${right} right answers`);
  }

  #problemOf({ what, began, took, problem, isOutOfTime }: Wait): string | undefined {
    if (problem !== undefined)
      return isOutOfTime && this.#pace.isTooSlow(began, took) ? undefined : `${what}: ${problem}`;
    const allowed = this.#pace.allowed(what === 'health' ? HEALTH_WITHIN_MS : ANSWER_WITHIN_MS, began, took);
    return took > allowed ? `${what} after ${took} ms, allowed are ${allowed}` : undefined;
  }

  [Symbol.dispose](): void {
    this.#over = true;
    this.#pace[Symbol.dispose]();
  }

  async #repeat(what: Wait['what'], ask: () => Promise<void>): Promise<void> {
    while (!this.#over) {
      const began = Date.now();
      const problem = await ask().then(
        () => undefined,
        (thrown: unknown) => thrown as Error,
      );
      this.#waits.push({
        what,
        began,
        took: Date.now() - began,
        ...(problem !== undefined && { problem: problem.message }),
        isOutOfTime: problem instanceof WrongAnswer && problem.isOutOfTime,
      });
      await later(PAUSE_MS);
    }
  }

  async #call(): Promise<void> {
    const [a, b] = [randomInt(1e9), randomInt(1e9)];
    const words = Array.from({ length: randomInt(1, 5) }, () => randomInt(1e9).toString(36));
    const answer = await this.#client.post(pathOf(this.#ko), { a, b, words });
    if (answer.status !== 200) throw new WrongAnswer(answer);
    assert.deepEqual(answer.object['result'], { sum: a + b, words: words.toReversed().join(' '), clean: true });
    assert.deepEqual(answer.object['info'], {
      ko: this.#ko.metadata,
      inputs: JSON.stringify({ a, b, words }),
    });
  }

  async #askHealth(): Promise<void> {
    const answer = await this.#client.get('/actuator/health');
    assert.equal(answer.status, 200, `${answer.status}: ${answer.text}`);
    assert.equal(answer.object['status'], 'UP');
  }
}
