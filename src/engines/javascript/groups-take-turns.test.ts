import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../../test/support/supervisor/fake-clock.ts';
import { ProcessGroups } from './process-groups.ts';
import type { Isolation } from './process-groups.ts';

/** Processes that are not there; says in the order of events what begins and ends. */
class Groups {
  readonly clock = new FakeClock();
  readonly events: string[] = [];
  readonly groups: ProcessGroups<{ key: string } & Disposable>;

  constructor(most = 2, isolation: Isolation = 'naan') {
    this.groups = new ProcessGroups<{ key: string } & Disposable>({
      ...{ isolation, most, queueLimit: 3, clock: this.clock },
      open: (key) => {
        this.events.push(`+${key}`);
        return { key, [Symbol.dispose]: () => void this.events.push(`-${key}`) };
      },
    });
  }

  /** Notes when a call of a group begins, or why it does not. */
  async call(key: string, { within = 5000, isNested = false } = {}): Promise<void> {
    try {
      await this.groups.take(key, { id: key, by: this.clock.now() + within, isNested });
      this.events.push(key);
    } catch (thrown) {
      this.events.push(`${key}: ${(thrown as { status?: number }).status} ${(thrown as Error).message}`);
    }
  }

  /** What has happened since it was asked the last time. */
  async since(): Promise<string> {
    for (let i = 0; i < 8; i++) await Promise.resolve();
    return this.events.splice(0).join(' ');
  }

  async pass(milliseconds: number): Promise<void> {
    const end = this.clock.now() + milliseconds;
    let isOver = false;
    this.clock.after(milliseconds, () => (isOver = true));
    while (!isOver && this.clock.step()) await Promise.resolve();
    assert.equal(this.clock.now(), end);
  }
}

const ko = (naan: string, name: string, version = 'v1') => ({ naan, name, version });

test('who shares processes is what the operator says', () => {
  const keys = (isolation: Isolation): string[] => {
    const { groups } = new Groups(2, isolation);
    return [ko('a', 'x'), ko('a', 'y'), ko('b', 'x'), ko('b', 'x', 'v2')].map((each) => groups.keyOf(each));
  };
  assert.deepEqual(keys('shared'), ['', '', '', '']);
  assert.deepEqual(keys('naan'), ['a', 'a', 'b', 'b']);
  assert.equal(new Set(keys('ko')).size, 4);
});

test('the group of all is there from the beginning, and no other is', () => {
  assert.notEqual(new Groups(2, 'shared').groups.shared, undefined);
  const { groups } = new Groups(2, 'ko');
  assert.equal(groups.shared, undefined);
  assert.deepEqual(groups.all(), []);
});

test('the idle group that was used longest ago is ended for another, and a busy one never is', async () => {
  const made = new Groups();
  await Promise.all([made.call('a'), made.call('b')]);
  made.groups.release('b');
  made.groups.release('a');
  await made.call('c');
  assert.equal(await made.since(), '+a +b a b -b +c c');
  await made.call('d');
  assert.equal(await made.since(), '-a +d d');
  void made.call('e');
  assert.equal(await made.since(), '');
});

test('where all are busy, calls wait in their turn, and those of one group begin together', async () => {
  const made = new Groups();
  await Promise.all([made.call('a'), made.call('b')]);
  await made.since();
  for (const key of ['c', 'd', 'c']) void made.call(key);
  assert.equal(await made.since(), '');
  assert.equal(made.groups.waiting, 3);
  made.groups.release('a');
  assert.equal(await made.since(), '-a +c c c');
  made.groups.release('c');
  assert.equal(await made.since(), '', 'another call of it has not ended');
  made.groups.release('c');
  assert.equal(await made.since(), '-c +d d');
  assert.equal(made.groups.waiting, 0);
});

test('a group that never gets idle makes way for one that waits, and has its next turn after it', async () => {
  const made = new Groups(1);
  await made.call('a');
  await made.since();
  void made.call('b');
  await made.call('a');
  assert.equal(await made.since(), 'a', 'its turn is not over');
  await made.pass(1500);
  void made.call('a');
  assert.equal(await made.since(), '', 'now it is');
  made.groups.release('a');
  made.groups.release('a');
  assert.equal(await made.since(), '-a +b b');
  made.groups.release('b');
  assert.equal(await made.since(), '-b +a a');
});

test('a call that got no turn in time, or comes when too many wait, is told to try again', async () => {
  const made = new Groups(1);
  await made.call('a');
  await made.since();
  for (const within of [1000, 3000, 3000, 3000]) void made.call('b', { within });
  assert.equal(
    await made.since(),
    'b: 503 3 calls wait for the processes of b already; try again later',
    'the others wait',
  );
  await made.pass(1200);
  assert.equal(
    await made.since(),
    'b: 503 the processes of other knowledge objects left no place for those of b; try again later',
  );
  made.groups.release('a');
  assert.equal(await made.since(), '-a +b b b');
});

test('what waits begins when the one before it gave up', async () => {
  const made = new Groups(1);
  await made.call('a');
  void made.call('b', { within: 2000 });
  await made.pass(1500);
  void made.call('a', { within: 60_000 });
  await made.since();
  await made.pass(1000);
  assert.match(await made.since(), /^b: 503 .* a$/);
});

test('a call by another call waits for no place, however many are busy, up to twice as many', async () => {
  const made = new Groups();
  for (const key of ['a', 'b']) await made.call(key);
  for (const key of ['c', 'd', 'e']) await made.call(key, { isNested: true });
  assert.match(await made.since(), /^\+a a \+b b \+c c \+d d e: 503 the processes of other/);
  for (const key of ['d', 'c']) made.groups.release(key);
  assert.equal(await made.since(), '-d -c', 'what is beyond the bound ends as soon as it is idle');
});

test('a call by another goes to a group that makes way too', async () => {
  const made = new Groups(1);
  await made.call('a');
  void made.call('b');
  await made.pass(1500);
  await made.since();
  await made.call('a', { isNested: true });
  assert.equal(await made.since(), 'a');
});

test('the end of the service ends all groups and answers what waits', async () => {
  const made = new Groups(1);
  await made.call('a');
  void made.call('b');
  await made.since();
  made.groups[Symbol.dispose]();
  assert.equal(await made.since(), '-a b: 503 the service is stopping; try again later');
  await made.call('c');
  assert.match(await made.since(), /^c: 503/);
});
