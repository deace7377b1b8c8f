import assert from 'node:assert/strict';
import { chmod } from 'node:fs/promises';
import { test } from 'node:test';
import { objectOf } from '../support/stored-packages.ts';
import { welcomeKo, zipOf } from './support/ko.ts';
import { startService, temporaryFolder } from './support/service.ts';

const ko = welcomeKo({ naan: 'a', name: 'locked' });
const path = '/a/locked/1.0/welcome';

for (const part of ['service.yaml', 'src/index.js']) {
  test(`a knowledge object of which ${part} cannot be read at the start runs once it can, by the next call`, async () => {
    await using folder = await temporaryFolder();
    await chmod(folder.path, 0o777);
    {
      await using first = await startService({ shelf: folder.path, unprivileged: true });
      assert.equal((await first.importZip(await zipOf(ko.files))).status, 200);
    }
    const file = objectOf(folder.path, ko.id, part);
    await chmod(file, 0);
    await using service = await startService({ shelf: folder.path, unprivileged: true });
    const { components } = (await service.get('/actuator/health')).json as {
      components: { activationService: { details: { failures: { cause: string }[] } } };
    };
    assert.match(components.activationService.details.failures[0]?.cause ?? '', /cannot be read.*EACCES/);
    const busy = await service.post(path, { name: 'Ann' });
    assert.deepEqual([busy.status, typeof busy.headers['retry-after']], [503, 'string'], busy.text);
    await chmod(file, 0o600);
    // The next attempt comes by itself, or with a call, at most once a second.
    for (let i = 0; i < 100; i++) {
      const answer = await service.post(path, { name: 'Ann' });
      if (answer.status === 200) return;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    assert.fail('it still does not run');
  });
}
