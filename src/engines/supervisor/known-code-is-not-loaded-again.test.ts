import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EngineHost } from '../../../test/conformance/engine-host.ts';
import { temporaryFolder } from '../../../test/conformance/temporary-folder.ts';
import { ownWorkers } from '../../../test/conformance/workers-host.ts';
import type { KnownLoads } from '../engine.ts';

/** What a start leaves to the next. */
class Known implements KnownLoads {
  readonly kept: Set<string>;
  readonly used = new Set<string>();

  constructor(kept: Iterable<string> = []) {
    this.kept = new Set(kept);
  }

  loads(key: string): boolean {
    if (!this.kept.delete(key)) return false;
    this.used.add(key);
    return true;
  }

  rememberLoad(key: string, works: boolean): void {
    if (works) this.used.add(key);
    else this.used.delete(key);
  }
}

const artifacts = {
  files: {
    'src/index.js': "if (require('fs').existsSync(__dirname + '/../more')) missing();\nexports.run = (x) => x;",
  },
  function: 'run',
};

test('code that an earlier start saw to load starts no worker before its first call', async () => {
  await using folder = await temporaryFolder();
  const first = new Known();
  {
    await using host = new EngineHost(await ownWorkers('node', { cache: folder.path, known: first }));
    await host.activate(artifacts);
    assert.equal(host.engine.info()['workers'], 1);
    await assert.rejects(host.activate({ ...artifacts, function: '', files: { 'src/index.js': 'missing();' } }));
  }
  assert.equal(first.used.size, 1, 'what does not load is not known');
  const second = new Known(first.used);
  await using host = new EngineHost(await ownWorkers('node', { cache: folder.path, known: second }));
  const executor = await host.activate(artifacts);
  assert.equal(host.engine.info()['workers'], 0);
  assert.equal(await host.call(executor, 'input'), 'input');
  assert.equal(host.engine.info()['workers'], 1);
});
