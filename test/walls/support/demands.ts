/** What must come of each attempt, without the walls and with them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attempts } from '../attempts/all.ts';
import type { Kind } from './attempt.ts';
import { idOf } from './outcomes.ts';
import type { Outcome, Outcomes } from './outcomes.ts';

export interface Tried {
  readonly kind: Kind;
  /** Such as `as root`. */
  readonly who: string;
  /** Of a process that nobody holds back. */
  readonly bare: Outcomes;
  /** … with the capabilities that this kind has without walls, where these are fewer. */
  readonly rights?: Outcomes;
  readonly off: Outcomes;
  readonly walls: Outcomes;
}

/** What the kernel of this machine has not, or grants to root alone, says so; any other error is a fault of the attempt. */
const ABSENT = ['ENOSYS', 'EPROTONOSUPPORT', 'EAFNOSUPPORT', 'ESOCKTNOSUPPORT', 'EOPNOTSUPP'];
const OF_OTHERS = [...ABSENT, 'EPERM', 'EACCES'];

export function demand({ kind, who, bare, rights = bare, off, walls }: Tried): void {
  for (const attempt of attempts) {
    const id = idOf(attempt);
    test(`${kind} ${who}: ${id}`, () => {
      const granted = of(bare, id);
      if (granted !== true) {
        const known = attempt.ofRoot === true ? OF_OTHERS : ABSENT;
        assert.deepEqual(
          granted.split(' ').filter((each) => !known.includes(each)),
          [],
          'it does not work where nobody holds it back',
        );
      }
      const refusedBy = attempt.refusedBy?.[kind];
      if (refusedBy === undefined && rights.get(id) === true) assert.equal(of(off, id), true, 'without walls');
      if (refusedBy !== undefined) assert.notEqual(of(off, id), true, `it should be refused by ${refusedBy}`);
      const reason = attempt.open?.[kind];
      if (reason === undefined) assert.notEqual(of(walls, id), true, 'it got through the walls');
      else if (granted === true) assert.equal(of(walls, id), true, `it is closed now, and not open since ${reason}`);
    });
  }
}

function of(outcomes: Outcomes, id: string): Outcome {
  const outcome = outcomes.get(id);
  assert.notEqual(outcome, undefined, 'it was not tried');
  return outcome ?? '';
}
