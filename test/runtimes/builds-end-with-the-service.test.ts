/** What builds a package of Python, and what that has started, ends when the service is killed. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { uniqueNaan } from '../acceptance/support/ko.ts';
import { startService } from '../acceptance/support/service.ts';
import { inRound } from '../support/round.ts';
import { descendantsOf, gone } from './support/processes.ts';
import { packageFiles, packageKo } from './support/python-package.ts';
import { until } from './support/until.ts';

/** Starts a child in a session of its own, where it may, and never ends. */
const BACKEND = `
import subprocess, sys, time

def build_wheel(*given):
    command = [sys.executable, "-c", "import time; time.sleep(1000)", "child of a build"]
    try:
        subprocess.Popen(command, start_new_session=True)
    except OSError:
        subprocess.Popen(command)
    time.sleep(1000)
`;

const isChildOfBuild = async (pid: number): Promise<boolean> =>
  (await readFile(`/proc/${pid}/cmdline`, 'latin1').catch(() => '')).endsWith('child of a build\0');

for (const walls of inRound(['require'], ['require', 'off']))
  test(`a killed service leaves nothing of a build behind: --walls ${walls}`, async () => {
    const naan = uniqueNaan();
    const files = { ...packageFiles('bmi', 'def run(_): return 1\n', 'python/'), 'python/backend.py': BACKEND };
    const ko = packageKo(naan, 'bmi', files);
    await using service = await startService({
      args: ['--runtimes', 'python', '--walls', walls],
      env: { PIP_CONFIG_FILE: '/dev/null', PIP_NO_INDEX: '1' },
    });
    await service.add(ko);
    const reloaded = service.reload(ko).catch(() => undefined);
    const pids = await until('a build runs', async () => {
      const all = await descendantsOf(service.pid);
      const found = await Promise.all(all.map(isChildOfBuild));
      return found.includes(true) ? all : undefined;
    });
    assert.ok(pids.length >= 3);
    await service.stop('SIGKILL');
    await gone(pids);
    await reloaded;
  });
