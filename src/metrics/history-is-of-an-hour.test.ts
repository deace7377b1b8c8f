import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Endpoint } from '../activation/endpoint.ts';
import { type CallHistory, History } from './history.ts';
import { Executions } from './measured.ts';
import { CALL_BOUNDS } from './text.ts';

const endpointOf = (name: string): Endpoint =>
  ({
    name: 'run',
    ko: { id: { naan: 'a', name, version: 'v1' } },
    entry: { engine: 'javascript' },
  }) as unknown as Endpoint;

const STEP_MS = 30_000;
const LIMIT = 1000;

/** `past`: how much of the time has passed. */
function setup(most = 1000, letGo: (executions: Executions) => void = () => undefined) {
  const clock = { now: 12_345 };
  const executions = new Executions(most);
  const history = new History({ executions, letGo: () => letGo(executions), now: () => clock.now });
  const pass = (ms: number): void => {
    for (const end = clock.now + ms; clock.now < end; history.endStep())
      clock.now += Math.min(STEP_MS, end - clock.now);
  };
  return { executions, history, pass };
}

test('calls are told in steps, with the one that goes on, and how long they took is interpolated in their buckets', () => {
  const { executions, history, pass } = setup();
  const endpoint = endpointOf('k');
  for (let i = 0; i < 100; i++) executions.observe(endpoint, 'done', 0.06 + i / 10_000, 1);
  pass(STEP_MS);
  executions.observe(endpoint, 'execution-failed', 60, 1);
  executions.observe(endpoint, 'overloaded', 0, 2);
  executions.observe(endpoint, 'invalid-input', 0, 3);
  pass(10_000);
  const { from, kos, total, ...rest } = history.of(undefined, LIMIT);
  assert.deepEqual(rest, {
    step: 30,
    lastSeconds: 10,
    steps: 2,
    calls: [100, 6],
    failed: [0, 3],
    p50: [75, 30_000],
    p95: [97.5, 30_000],
    p99: [99.5, 30_000],
  });
  assert.ok(Math.abs(Date.parse(from) - Date.now() + 40_000) < 5000);
  // A rank of 50.5 of the 100 between 0.05 and 0.1 s.
  const figures = { calls: 106, failed: 3, p50: 75.25, p95: 97.975, p99: 99.995 };
  assert.deepEqual(total, { ...figures, perSecond: 2.422 });
  assert.deepEqual(kos, [{ ko: 'a/k/v1', endpoint: 'run', engine: 'javascript', ...figures, perSecond: 2.422 }]);
  assert.deepEqual(history.present, { perSecond: 2.422, failedPerSecond: 0.1, p95: 98.213 });
});

test('what came is told until an hour has passed, as if each call were kept', () => {
  const { executions, history, pass } = setup(8);
  const endpoints = Array.from({ length: 12 }, (_, i) => endpointOf(`k${i}`));
  const kept: { step: number; ko: string; outcome: string; bucket: number }[] = [];
  // Numbers that are the same in each run.
  let seed = 1;
  const random = (below: number): number => (seed = (seed * 48_271) % 2_147_483_647) % below;
  const SECONDS = [0.0001, 0.0007, 0.002, 0.06, 3, 100];
  const OUTCOMES = ['done', 'done', 'done', 'execution-failed', 'invalid-input', 'overloaded'];
  for (let step = 0; step < 300; step++) {
    for (let i = random(4) === 0 ? 0 : random(40); i > 0; i--) {
      const at = random(step % 7 === 0 ? 12 : 3);
      const [seconds = 0, outcome = ''] = [SECONDS[random(6)], OUTCOMES[random(6)]];
      executions.observe(endpoints[at] ?? endpointOf(''), outcome, seconds, 1);
      const bucket = CALL_BOUNDS.findIndex((bound) => seconds <= bound);
      kept.push({ step, ko: at, outcome, bucket } as never);
    }
    if (step % 10 === 9) check(step);
    pass(STEP_MS);
  }

  function check(step: number): void {
    const first = Math.max(0, step - 119);
    const within = kept.filter((each) => each.step >= first);
    const isFailed = ({ outcome }: { outcome: string }): boolean => /failed|overloaded/.test(outcome);
    const perStep = (all: typeof kept): number[] => {
      const counts = Array<number>(step - first + 1).fill(0);
      for (const each of all) counts[each.step - first] = (counts[each.step - first] ?? 0) + 1;
      return counts;
    };
    const history1 = history.of(undefined, LIMIT + (step % 2));
    assert.deepEqual(history1.calls, perStep(within));
    assert.deepEqual(history1.failed, perStep(within.filter(isFailed)));
    assert.equal(history1.total.calls, within.length);
    assert.equal(
      history1.kos.reduce((sum, { calls }) => sum + calls, 0),
      within.length,
    );
    for (const { ko, calls, failed, p95 } of history1.kos) {
      if (ko === 'other') continue;
      const own = within.filter((each) => `a/k${each.ko}/v1` === ko);
      const one: CallHistory = history.of(ko, LIMIT);
      assert.deepEqual([calls, failed], [own.length, own.filter(isFailed).length]);
      assert.deepEqual([one.calls, one.failed], [perStep(own), perStep(own.filter(isFailed))]);
      const ran = own
        .filter(({ outcome }) => /done|failed/.test(outcome))
        .map(({ bucket }) => (bucket < 0 ? 99 : bucket));
      const at = ran.sort((a, b) => a - b)[Math.ceil(0.95 * ran.length) - 1];
      if (at === undefined) assert.equal(p95, null);
      else
        assert.equal(
          CALL_BOUNDS.findIndex((bound) => (p95 ?? 0) / 1000 <= bound),
          Math.min(at, 14),
        );
    }
  }
});
