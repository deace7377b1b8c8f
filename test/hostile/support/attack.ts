/** Runs a table of hostile cases against a service of its own, beside a client who must not notice. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { assertRequestError } from '../../acceptance/support/expectations.ts';
import type { Answer } from '../../acceptance/support/client.ts';
import { explode } from '../../acceptance/support/folders.ts';
import { pathOf } from '../../acceptance/support/knowledge-grid.ts';
import { resourceKo, uniqueNaan } from '../../acceptance/support/ko.ts';
import type { Ko } from '../../acceptance/support/ko.ts';
import { startService, temporaryFolder } from '../../acceptance/support/service.ts';
import type { OwnService } from '../../acceptance/support/service.ts';
import { ranOutOfTime, tryAgain } from '../../support/try-again.ts';
import { Companion, wellBehavedKo } from './companion.ts';
import { assertBackTo, restingFootprintOf, MEGABYTE, Peak } from './footprint.ts';
import type { Allowance } from './footprint.ts';
import { hostileKo } from './hostile-case.ts';
import type { HostileCase } from './hostile-case.ts';
import type { Pace } from './pace.ts';

/** Milliseconds of `--execution-timeout`. */
const EXECUTION_LIMIT_MS = 1000;
/** "Every guest call ends within `timeout + 1 s` grace." */
const GRACE_MS = 1000;

/** A sandbox may pass its bound by what it takes between two looks. */
export const MOST = { activator: 100 * MEGABYTE, child: 1200 * MEGABYTE };

export interface Attack {
  /** Options of the service beside the limit of a call. */
  readonly args?: readonly string[];
  /** Cases at the same time. */
  readonly concurrency?: number;
  readonly allowance?: Allowance;
  /** See `Peak`. */
  readonly most?: { readonly activator: number; readonly child: number };
  /** More that is done while the client calls. */
  readonly also?: (t: TestContext, service: OwnService, pace: Pace) => Promise<void>;
}

/** One test of each case, and one of what the whole did to others and left behind. */
export function attack(title: string, cases: readonly HostileCase[], options: Attack = {}): void {
  const { concurrency = 4 } = options;
  // One more, for what is done beside.
  test(title, { concurrency: concurrency + 1 }, async (t) => {
    const naan = uniqueNaan();
    const well = wellBehavedKo(naan);
    const kos = cases.map((each, i) => hostileKo(naan, each, i));
    await using shelf = await temporaryFolder();
    const files = resourceKo({ naan, name: 'files', resources: { 'a.txt': 'a' } });
    for (const ko of [well, files, ...kos]) await explode(ko, shelf.path, ko.name);
    await using service = await startService({
      shelf: shelf.path,
      args: ['--execution-timeout', `${EXECUTION_LIMIT_MS}ms`, '--isolate-memory', '32MB', ...(options.args ?? [])],
    });
    await warmUp(service, well);
    const before = await restingFootprintOf(service.pid);
    {
      using companion = new Companion(service, well);
      using peak = new Peak(before, service.pid);
      const waiting = cases.entries();
      const attacker = async (): Promise<void> => {
        for (const [i, each] of waiting) {
          const ko = kos[i];
          if (ko !== undefined) await t.test(each.name, () => assertHeld(service, ko, each, { pace: companion.pace }));
        }
      };
      await Promise.all([...Array.from({ length: concurrency }, attacker), options.also?.(t, service, companion.pace)]);
      await t.test('meanwhile memory was bounded', () => peak.assertWithin(options.most ?? MOST));
      await t.test('meanwhile others were answered right and in time', () => companion.assertUndisturbed());
    }
    await t.test('afterwards the service is where it was', () => assertBackTo(before, service.pid, options.allowance));
  });
}

export interface Time {
  readonly pace: Pace;
  /** Milliseconds of `--execution-timeout`. */
  readonly limit?: number;
  /** Milliseconds for which a client tries again. */
  readonly triesMs?: number;
}

/** The machine is too busy to tell: what ends by itself does not within the limit. With a longer one it may. */
export class TooBusy extends Error {}

/** Calls the hostile code, whose answer must come in time and be what the case says; the next call of it is answered. */
export async function assertHeld(service: OwnService, ko: Ko, each: HostileCase, time: Time): Promise<void> {
  const began = Date.now();
  const assertTold = (answer: Answer, isDue: boolean): void => {
    if (isDue || !ranOutOfTime(answer)) return;
    if (time.pace.isTooSlow(began, Date.now() - began)) throw new TooBusy(answer.text);
  };
  const answer = await answerOf(service, ko, { hostile: true }, time);
  if (answer.status === 200) assertResult(answer, ko, each.outcome);
  else {
    assertTold(answer, answer.status === 500 && mayRunOutOfTime(answer, each.outcome));
    assertError(answer, ko, each.outcome);
  }
  const next = await answerOf(service, ko, {}, time, (each) => each.status !== 200);
  assertTold(next, false);
  assert.equal(next.object['result'], 'well', `the next call: ${next.text}`);
}

const mayRunOutOfTime = ({ text }: Answer, outcome: HostileCase['outcome']): boolean =>
  typeof outcome === 'object' ? 'says' in outcome && outcome.says.test(text) : outcome !== 'answer';

/** What a client hears who tries again where the service tells him to. Every answer must come in time. */
function answerOf(
  service: OwnService,
  ko: Ko,
  input: unknown,
  { pace, limit = EXECUTION_LIMIT_MS, triesMs }: Time,
  again?: (answer: Answer) => boolean,
): Promise<Answer> {
  return tryAgain(
    async () => {
      const began = Date.now();
      const answer = await service.post(pathOf(ko), input);
      const took = Date.now() - began;
      const allowed = pace.allowed(limit + GRACE_MS, began, took);
      assert.ok(took <= allowed, `an answer after ${took} ms; allowed are ${allowed}`);
      return answer;
    },
    again,
    triesMs,
  );
}

function assertResult(answer: Answer, ko: Ko, outcome: HostileCase['outcome']): void {
  const isDue = typeof outcome === 'object' ? 'is' in outcome : outcome !== 'error';
  assert.ok(isDue, answer.text.slice(0, 300));
  const { result, info, ...more } = answer.object;
  assert.deepEqual(info, { ko: ko.metadata, inputs: '{"hostile":true}' });
  assert.deepEqual(more, {});
  if (typeof outcome === 'object' && 'is' in outcome) assert.deepEqual(result, outcome.is);
}

function assertError(answer: Answer, ko: Ko, outcome: HostileCase['outcome']): void {
  const isDue = typeof outcome === 'object' ? 'says' in outcome : outcome !== 'answer';
  assert.ok(isDue, answer.text);
  const says = typeof outcome === 'object' && 'says' in outcome ? outcome.says : /\S/;
  assertRequestError(answer, {
    status: 500,
    path: pathOf(ko),
    title: 'General Adapter Exception',
    detail: new RegExp(`^Code execution error: .*(?:${says.source})`, `s${says.flags}`),
  });
}

/** Until code is compiled and memory is taken that a service in use has anyway. */
async function warmUp(service: OwnService, well: Ko): Promise<void> {
  const call = () => service.post(pathOf(well), { a: 1, b: 2, words: ['x'] });
  for (let i = 0; i < 20; i++) await Promise.all(Array.from({ length: 10 }, call));
}
