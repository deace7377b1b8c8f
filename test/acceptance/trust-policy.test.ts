/** `--trust-policy`: whose packages are taken and run, and what becomes of them when it changes. */
import assert from 'node:assert/strict';
import type { KeyObject } from 'node:crypto';
import { createPublicKey } from 'node:crypto';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { bundleText } from '../../src/shelf/package/signatures/bundle-file.ts';
import { generateKeys, readPrivateKey } from '../../src/shelf/package/signatures/keys.ts';
import { signStatement } from '../../src/shelf/package/signatures/sign.ts';
import { provenanceStatement } from '../../src/shelf/package/signatures/statements.ts';
import { listingOf } from '../../src/shelf/package/signatures/subject.ts';
import { sha256 } from '../../src/shelf/package/package-content.ts';
import { until } from '../runtimes/support/until.ts';
import { upload as sentZip } from './support/client.ts';
import type { Answer } from './support/client.ts';
import { assertShelfError } from './support/expectations.ts';
import { pathOf } from './support/knowledge-grid.ts';
import { javascriptKo, uniqueNaan, zipOf } from './support/ko.ts';
import type { Ko } from './support/ko.ts';
import { runToEnd, startService, temporaryFolder } from './support/service.ts';
import type { OwnService } from './support/service.ts';

const newKey = (): KeyObject => readPrivateKey(generateKeys('ecdsa').privatePem);
const [alice, bob, eve] = [newKey(), newKey(), newKey()];
const NAMES = new Map([
  [alice, 'alice'],
  [bob, 'bob'],
]);
const naan = uniqueNaan();
const koOf = (result: number, name = 'score'): Ko =>
  javascriptKo(`function run() { return ${result}; }`, { naan, name });

/** The package with a bundle by each of these keys. */
function signed(ko: Ko, ...keys: KeyObject[]): Ko {
  const files = Object.entries(ko.files).map(([path, content]) => {
    const bytes = Buffer.from(content);
    return { path, size: bytes.length, sha256: sha256(bytes) };
  });
  const statement = provenanceStatement({ ko: ko.id, sha256: listingOf(files).sha256 }, 'test');
  const bundles = keys.map((key, at) => [`${at}.sigstore.json`, bundleText(signStatement(statement, key))] as const);
  return { ...ko, files: { ...ko.files, ...Object.fromEntries(bundles) } };
}

const signer = (key: KeyObject, more: object): object => ({
  name: NAMES.get(key),
  key: createPublicKey(key).export({ type: 'spki', format: 'pem' }),
  ...more,
});

class Policy {
  readonly file: string;

  constructor(folder: string) {
    this.file = join(folder, 'policy.json');
  }

  async write(mode: string, keys: readonly KeyObject[] = [alice, bob], more: object = {}): Promise<void> {
    await this.writeText(
      JSON.stringify({ mode, naans: { [naan]: { signers: keys.map((key) => signer(key, more)) } } }, undefined, 1),
    );
  }

  /** At once, as an editor does: nobody reads the half of it. */
  async writeText(text: string): Promise<void> {
    await writeFile(`${this.file}.new`, text);
    await rename(`${this.file}.new`, this.file);
  }
}

const upload = async (service: OwnService, ko: Ko): Promise<Answer> =>
  service.send('POST', '/kos', sentZip(await zipOf(ko.files, 'ko/')));

test('only packages of those whom the policy names are taken and run, and a change of it counts without a restart', async () => {
  await using folder = await temporaryFolder();
  const policy = new Policy(folder.path);
  await policy.write('require');
  const shelf = join(folder.path, 'shelf');
  const path = pathOf(koOf(1));
  {
    await using service = await startService({ shelf, args: ['--trust-policy', policy.file] });
    for (const [ko, why] of [
      [koOf(1), 'it has no signature'],
      [signed(koOf(1), eve), '0 of 1 signatures count; 0.sigstore.json: '],
      [
        { ...signed(koOf(1), alice), files: { ...signed(koOf(1), alice).files, 'more.txt': 'x' } },
        'signs something else',
      ],
    ] as const) {
      const refused = await upload(service, ko);
      assertShelfError(refused, {
        status: 409,
        path: '/kos',
        error: new RegExp(`${naan}/score/v1\\.0 is not trusted: .*${why}`),
      });
    }
    const kept = signed(koOf(1), alice);
    assert.equal((await upload(service, kept)).status, 200);
    await service.reload(kept);
    const answer = await service.post(path, {});
    assert.deepEqual([answer.object['result'], answer.headers['kgrid-package-signer']], [1, 'alice']);
    const [endpoint] = await service.endpoints(naan);
    assert.partialDeepStrictEqual(endpoint?.['signature'], { verdict: 'trusted', signers: [{ signer: 'alice' }] });

    // The same version by somebody else, though the policy names both.
    assertShelfError(await upload(service, signed(koOf(2), bob)), {
      ...{ status: 409, path: '/kos' },
      error: /is signed by alice, .* by bob/,
    });
    const changed = await service.send('PUT', `/kos/${kept.id}`, {
      headers: { 'content-type': 'application/json' },
      body: String(kept.files['metadata.json']).replace('{', '{"changed":true,'),
    });
    assertShelfError(changed, { status: 409, path: `/kos/${kept.id}`, error: /signs something else/ });

    await policy.write('require', [alice], { revoked: true });
    const gone = await until('what a revoked key signed runs no more', async () => {
      const each = await service.post(path, {});
      return each.status === 404 ? each : undefined;
    });
    assert.match(gone.text, /the signer alice is revoked/);
    await policy.writeText('mode: require\nnaans: [');
    const health = await until('health says that the policy is broken', async () => {
      const { text } = await service.get('/actuator/health');
      return text.includes('trustPolicy') ? text : undefined;
    });
    assert.match(health, /policy\.json.* line 2.*The policy of before counts/);
    assert.ok(!health.includes(folder.path), 'no folder of the machine');
    assert.equal((await service.post(path, {})).status, 404);
    await policy.write('require');
    await until('what is trusted again runs again', async () =>
      (await service.post(path, {})).status === 200 ? true : undefined,
    );
    await policy.write('require', [bob]);
    await until('what nobody signed who counts runs no more', async () =>
      (await service.post(path, {})).status === 404 ? true : undefined,
    );
    await service.stop('SIGKILL');
  }
  {
    await using service = await startService({ shelf, args: ['--trust-policy', policy.file] });
    assert.match((await service.post(path, {})).text, /is not trusted/);
  }
  await policy.writeText('mode: sometimes\n');
  const { code, stdout, stderr } = await runToEnd({ shelf, args: ['--trust-policy', policy.file] });
  assert.equal(code, 1);
  assert.match(stdout + stderr, /--trust-policy: .*policy\.json:1: mode must be one of off, warn, require/);
});

test('with warn all is taken and runs, and the log and the list of endpoints say of what they do not know whose it is', async () => {
  await using folder = await temporaryFolder();
  const policy = new Policy(folder.path);
  await policy.write('warn');
  const shelf = join(folder.path, 'shelf');
  const unpacked = koOf(3, 'unpacked');
  for (const [name, content] of Object.entries(unpacked.files)) {
    const file = join(shelf, 'unpacked', name);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, content);
  }
  await using service = await startService({ shelf, args: ['--trust-policy', policy.file] });
  await service.serve(koOf(1));
  for (const ko of [koOf(1), unpacked]) {
    assert.equal((await service.post(pathOf(ko), {})).status, 200);
    await service.logged(({ msg }) =>
      String(msg).startsWith(`${ko.id} is not trusted, and runs all the same: it has no signature`),
    );
  }
  for (const each of await service.endpoints(naan))
    assert.deepEqual(each['signature'], { verdict: 'not trusted', reason: 'it has no signature', signers: [] });
  assert.equal((await upload(service, signed(koOf(1), alice))).status, 200);
  assert.equal((await upload(service, signed(koOf(2), bob))).status, 200);
  await service.logged(({ msg }) =>
    /is signed by alice, and this package of the same version by bob/.test(String(msg)),
  );
  // What is no longer as it was signed comes back as it was stored, and is judged again.
  assert.equal((await service.send('POST', `/kos/${koOf(1).id}/restore`)).status, 200);
  await policy.write('require');
  await until('a folder that nobody signed runs no more', async () =>
    (await service.post(pathOf(unpacked), {})).status === 404 ? true : undefined,
  );
  await rm(join(shelf, 'unpacked'), { recursive: true });
});
