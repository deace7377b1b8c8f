import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { until } from '../../../test/runtimes/support/until.ts';
import { TestJavascript } from '../../../test/support/javascript.ts';
import { findKernel } from '../../confinement/find-kernel.ts';

const NODE = process.execPath;
// A process that cannot be started keeps nothing awake, as a server would.
const awake = setInterval(() => undefined, 1000);
after(() => clearInterval(awake));

test('where no sandbox can be started an activation fails and says why, until one can', async () => {
  process.execPath = '/bin/false';
  await using javascript = new TestJavascript();
  try {
    await assert.rejects(javascript.activate('function run() { return 2; }'), {
      name: 'ActivationFailure',
      message: /^a sandbox process cannot be started: exit code 1/,
    });
    assert.equal(javascript.engine.health().status, 'DOWN');
    assert.match(String(javascript.engine.health().details['problem']), /cannot be started: exit code 1/);
  } finally {
    process.execPath = NODE;
  }
  await until('it is up', () => (javascript.engine.health().status === 'UP' ? true : undefined));
  assert.equal(await javascript.call(await javascript.activate('function run() { return 3; }')), 3);
});

test('a start that cannot even be prepared is told as one that fails, until one can', async () => {
  const kernel = await findKernel('require');
  let isBroken = true;
  const broken = {
    ...kernel,
    get landlock(): number {
      if (isBroken) throw new Error('the machine has nothing to confine it with');
      return kernel.landlock;
    },
  };
  await using javascript = new TestJavascript({ kernel: broken });
  await assert.rejects(javascript.activate('function run() { return 2; }'), {
    name: 'ActivationFailure',
    message: 'a sandbox process cannot be started: the machine has nothing to confine it with',
  });
  assert.deepEqual(javascript.engine.health(), {
    status: 'DOWN',
    details: {
      engines: ['javascript'],
      problem: 'a sandbox process cannot be started: the machine has nothing to confine it with',
    },
  });
  isBroken = false;
  await until('it is up', () => (javascript.engine.health().status === 'UP' ? true : undefined));
  assert.equal(await javascript.call(await javascript.activate('function run() { return 3; }')), 3);
});
