import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { until } from '../../../test/remote/support/until.ts';
import { TestJavascript } from '../../../test/support/javascript.ts';

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
