/** The unit of the folder deploy; `npm run test:long image` starts it under systemd. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { PROJECT } from '../acceptance/support/service.ts';
import { debianProgram } from '../support/debian-program.ts';

const UNIT = join(PROJECT, 'deploy/systemd/kgrid-activator.service');
/** In tenths, as the option takes it. 10 is a service that may do everything. */
const MOST_EXPOSED = 40;

test('the unit of systemd leaves the service exposed to 4 of 10 at most', () => {
  const analyze = debianProgram('systemd-analyze', 'systemd');
  const args = ['security', '--offline=true', `--threshold=${MOST_EXPOSED}`, '--no-pager', UNIT];
  const { status, stdout, stderr } = spawnSync(analyze, args, { encoding: 'utf8' });
  assert.equal(status, 0, `${stdout}${stderr}`);
  assert.match(stdout, /Overall exposure level for kgrid-activator\.service: \d/);
  // What it does not know is said here.
  assert.equal(stderr, '');
});
