import assert from 'node:assert/strict';
import { hash, sign } from 'node:crypto';
import { appendFile, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { bundleToJSON, toMessageSignatureBundle } from '@sigstore/bundle';
import { edit, fromTemplate, kgrid, kgridJson, temporaryFolder, type Ended, type Folder } from './kgrid.ts';

let folder: Folder;
before(async () => {
  folder = await temporaryFolder();
  await fromTemplate('javascript', folder.path, 'score');
  for (const name of ['own', 'other']) assert.equal((await run('keygen', '-o', name)).code, 0);
  assert.equal((await run('keygen', '-o', 'ed', '--type', 'ed25519')).code, 0);
});
after(() => folder[Symbol.asyncDispose]());

const run = (...args: string[]): Promise<Ended> => kgrid(args, { cwd: folder.path });
const at = (name: string): string => join(folder.path, name);

test('a private key is for its owner only, and never replaced', async () => {
  assert.equal((await stat(at('own.key'))).mode & 0o777, 0o600);
  const again = await run('keygen', '-o', 'own');
  assert.deepEqual([again.code, again.stderr], [2, 'own.key is there already: choose another --output\n']);
});

test('a signed zip is verified, by its key only, and its listing as a file or by its digest', async () => {
  const packed = await kgridJson<{ packageDigest: string }>(['pack', 'score', '-o', 'score.zip'], { cwd: folder.path });
  assert.equal((await run('sign', 'score.zip', '--key', 'own.key')).code, 0);
  const listing = await readFile(at('score.zip.sha256sums'), 'utf8');
  const digest = `sha256:${hash('sha256', listing)}`;
  assert.equal(digest, packed.json.packageDigest);
  const verified = await run('verify', 'score.zip', '--key', 'own.pub');
  assert.deepEqual(
    [verified.code, verified.stdout.includes(`score.zip: signed, ${digest}`)],
    [0, true],
    verified.stdout,
  );
  assert.match(verified.stdout, /score\.zip\.examples\.sigstore\.json: signed/);
  assert.equal((await run('verify', 'score.zip', '--key', 'other.pub')).code, 1);
  for (const subject of ['score.zip.sha256sums', digest]) {
    const args = ['verify-bundle', '--bundle', 'score.zip.sigstore.json', '--key', 'own.pub', subject];
    assert.equal((await run(...args)).code, 0, subject);
  }
});

test('a folder carries its signature, which is no part of what it signs, until a file changes', async () => {
  assert.match((await run('verify', 'score', '--key', 'ed.pub')).stdout, /has no signature/);
  assert.equal((await run('sign', 'score', '--key', 'ed.key')).code, 0);
  assert.equal((await run('verify', 'score', '--key', 'ed.pub')).code, 0);
  assert.equal((await run('pack', 'score', '-o', 'with.zip')).code, 0);
  assert.equal((await run('verify', 'with.zip', '--key', 'ed.pub')).code, 0);
  await appendFile(at('score/metadata.json'), '\n');
  const changed = await run('verify', 'score', '--key', 'ed.pub');
  assert.equal(changed.code, 1);
  assert.match(changed.stdout, /package\.sigstore\.json: the bundle signs something else/);
});

test('what an activator would not take is not signed', async () => {
  await fromTemplate('javascript', folder.path, 'bad');
  await edit(at('bad/metadata.json'), '"', '');
  const refused = await run('sign', 'bad', '--key', 'own.key');
  assert.equal(refused.code, 1);
  assert.match(refused.stdout, /not signed/);
});

test('a message is verified by its digest alone where the key signs digests', async () => {
  await writeFile(at('message'), 'a message');
  const digest = hash('sha256', 'a message', 'buffer');
  for (const [name, algorithm, code] of [
    ['own', 'sha256', 0],
    ['ed', null, 1],
  ] as const) {
    const signature = sign(algorithm, Buffer.from('a message'), await readFile(at(`${name}.key`)));
    const bundle = bundleToJSON(toMessageSignatureBundle({ digest, signature }));
    await writeFile(at('message.json'), JSON.stringify(bundle));
    const args = ['verify-bundle', '--bundle', 'message.json', '--key', `${name}.pub`];
    const byDigest = await run(...args, `sha256:${digest.toString('hex')}`);
    assert.equal(byDigest.code, code, byDigest.stdout);
    if (code === 1) assert.match(byDigest.stdout, /needs the file itself/);
    assert.equal((await run(...args, 'own.pub')).code, 1);
  }
  const wrong = bundleToJSON(
    toMessageSignatureBundle({ digest, signature: sign('sha256', digest, await readFile(at('own.key'))) }),
  );
  await writeFile(at('message.json'), JSON.stringify(wrong));
  const args = ['verify-bundle', '--bundle', 'message.json', '--key', 'own.pub', `sha256:${digest.toString('hex')}`];
  assert.equal((await run(...args)).code, 1);
});

test('a wrong call is told', async () => {
  const identity = ['--certificate-identity', 'a', '--certificate-oidc-issuer', 'b'];
  const call = ['verify-bundle', '--bundle', 'x', 'own.pub'];
  const CALLS: [string[], RegExp][] = [
    [[...call], /Who must have signed it/],
    [[...call, '--key', 'own.pub', ...identity], /not both/],
    [[...call, ...identity], /None is built in.*none is fetched/],
    [[...call, '--key', 'own.key'], /own\.key: it holds no public key/],
    [['sign', 'score', '--key', 'own.pub'], /own\.pub: it holds no private key/],
  ];
  for (const [args, said] of CALLS) {
    const { code, stderr } = await run(...args);
    assert.equal(code, 2, args.join(' '));
    assert.match(stderr, said);
  }
});
