/** Places that an import must survive: it fails by itself, in bounded time, and nothing is read that may not be. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { after, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { Bench } from '../../../test/archives/bench.ts';
import { koFiles, zipOf } from '../../../test/archives/ko.ts';
import { web, type Answer, type Web } from '../../../test/archives/web.ts';
import { DEFAULT_PACKAGE_LIMITS } from '../archive/archive.ts';
import type { Lookup } from './http-client.ts';
import { createManifestImporter } from './create-manifest-importer.ts';
import { MANIFEST_LIMITS } from './manifest-run.ts';

const bench = await Bench.open();
after(() => bench[Symbol.asyncDispose]());
const KO = zipOf(koFiles({ id: 'w/ko/v1' }));
const MB = 2 ** 20;

interface Options {
  secure?: boolean;
  private?: boolean;
  lookup?: Lookup;
  /** Milliseconds an import may take; little where it is to come to its end. */
  timeout?: number;
}

/** Imports one location and gives its id or the reason. */
async function attempt(
  location: string,
  { secure = false, private: allowed = false, lookup, timeout = 30_000 }: Options = {},
): Promise<string> {
  const importer = createManifestImporter({
    config: { profile: secure ? 'secure' : 'dev', fileManifests: [], privateManifests: allowed },
    target: bench.target({ ...DEFAULT_PACKAGE_LIMITS, zipped: 5 * MB }),
    log: { debug: () => undefined },
    manifestLimits: { ...MANIFEST_LIMITS, timeout, manifest: MB },
    ...(lookup === undefined ? {} : { lookup }),
  });
  const start = performance.now();
  const [outcome, ...others] = await importer.importPosted([location]);
  assert.ok(performance.now() - start < 60_000, 'in time');
  assert.deepEqual(others, []);
  assert.deepEqual(await bench.staged(), [], 'nothing is staged');
  const reason = outcome?.error?.message ?? '';
  assert.doesNotMatch(reason, /127\.0\.0\.1|::1|10\.0\.0|kgrid-archives/, 'no address or path of this host');
  return outcome?.id === undefined ? reason : outcome.id.name;
}

const redirect =
  (to: string | ((host: Web) => string), status = 302): Answer =>
  (request, response) => {
    const self = `http://${request.headers.host ?? ''}`;
    response.writeHead(status, { location: typeof to === 'string' ? to : to({ url: self } as Web) }).end('moved');
  };

const encoded =
  (encoding: string, body: Buffer): Answer =>
  (_request, response) =>
    response.writeHead(200, { 'content-encoding': encoding }).end(body);

/** Writes again and again until nobody listens. */
const endless =
  (chunk: Buffer, headers = {}): Answer =>
  (_request, response) => {
    response.writeHead(200, headers);
    const write = (): void => {
      while (!response.destroyed && response.write(chunk));
    };
    response.on('drain', write);
    write();
  };

const bomb = gzipSync(Buffer.alloc(50 * MB));
const never = '169.254.169.254';

const answers: Record<string, [Answer, RegExp]> = {
  '/ok': [KO, /^ko$/],
  '/hang': [() => undefined, /^gave no whole answer within 0\.4 s$/],
  '/hang-in-body': [(_r, response) => response.writeHead(200).write(KO.subarray(0, 100)), /^gave no whole answer/],
  '/drip': [(_r, response) => void setInterval(() => response.write('P'), 20).unref(), /^gave no whole answer/],
  '/reset': [(request) => request.socket.resetAndDestroy(), /^broke off$/],
  '/truncated': [
    (_r, response) => (
      response.writeHead(200, { 'content-length': KO.length }).write(KO.subarray(0, 100)),
      setTimeout(() => response.destroy(), 20)
    ),
    /^broke off$/,
  ],
  '/truncated-chunks': [
    (_r, response) => (response.write(KO.subarray(0, 100)), setTimeout(() => response.destroy(), 20)),
    /^broke off$/,
  ],
  '/no-http': [(request) => request.socket.end('hello\r\n\r\n'), /^(?:broke off|cannot be read)$/],
  '/endless': [endless(randomBytes(MB)), /^The package is larger than the limit of 5 MB\.$/],
  '/huge-length': [endless(randomBytes(MB), { 'content-length': 10 ** 12 }), /larger than the limit/],
  '/gzip': [encoded('gzip', gzipSync(KO)), /^ko$/],
  '/brotli': [encoded('br', brotliCompressSync(KO)), /^ko$/],
  '/identity': [encoded('identity', KO), /^ko$/],
  '/gzip-bomb': [encoded('gzip', bomb), /larger than the limit/],
  '/not-gzip': [encoded('gzip', KO), /^gave an answer that cannot be decoded$/],
  '/cut-gzip': [encoded('gzip', gzipSync(KO).subarray(0, 200)), /^gave an answer that cannot be decoded$/],
  '/twice': [encoded('gzip, gzip', KO), /^answered with the encoding gzip, gzip, which was not asked for$/],
  '/500': [(_r, response) => response.writeHead(500).end(KO), /^answered with the status 500$/],
  '/304': [(_r, response) => response.writeHead(304).end(), /^answered with the status 304$/],
  '/empty': ['', /^The zip file is empty$/],
  '/1': [redirect('/ok', 301), /^ko$/],
  '/2': [redirect('/1', 303), /^ko$/],
  '/3': [redirect('/2', 307), /^ko$/],
  '/4': [redirect('/3', 308), /^redirects more than 3 times$/],
  '/loop': [redirect('/loop'), /^redirects more than 3 times$/],
  '/to-file': [redirect('file:///etc/passwd'), /^redirects to file:\/\/\/etc\/passwd, which is no http or https URL$/],
  '/to-data': [redirect('data:,x'), /^redirects to data:,x, which is no/],
  '/to-nothing': [(_r, response) => response.writeHead(302).end(), /^answered with the status 302$/],
  '/to-never': [redirect(`http://${never}/latest/meta-data`), /address that is never asked/],
  '/to-nowhere': [redirect('http://127.0.0.1:1/'), /^has a host that does not answer there$/],
};

const host = await web(Object.fromEntries(Object.entries(answers).map(([path, [answer]]) => [path, answer])));
after(() => host[Symbol.asyncDispose]());

const COMES_TO_ITS_LIMIT = /gave no whole answer/;

for (const [path, [, expected]] of Object.entries(answers)) {
  test(`a location that answers as ${path.slice(1)}`, async () =>
    assert.match(
      await attempt(host.url + path, COMES_TO_ITS_LIMIT.test(expected.source) ? { timeout: 400 } : {}),
      expected,
    ));
}

test('an unknown host is an error in words', async () => {
  assert.match(await attempt('http://no-such-host.invalid/x.zip'), /^has a host that/);
});

const loopback = /^is at a private or loopback address: allow these with --allow-private-manifests$/;
const spellings = [
  '127.0.0.1',
  'localhost',
  '127.1',
  '2130706433',
  '0x7f.1',
  '0177.0.0.1',
  '[::1]',
  '[::ffff:127.0.0.1]',
  '0.0.0.0',
  '[::]',
  '１２７.0.0.1',
  '10.0.0.1',
  '192.168.0.1',
  '[fd00::1]',
  '[64:ff9b::7f00:1]',
];
for (const name of spellings) {
  test(`${name} is not asked where private addresses are not allowed`, async () => {
    const before = host.requests.length;
    assert.match(await attempt(`http://${name}:${host.port}/ok`, { secure: true }), loopback);
    assert.equal(host.requests.length, before);
  });
}

test('private addresses may be asked where that is allowed', async () => {
  assert.equal(await attempt(`http://localhost:${host.port}/ok`, { secure: true, private: true }), 'ko');
});

for (const name of [never, '[fe80::1]', '[::ffff:169.254.169.254]', '[64:ff9b::a9fe:a9fe]', '2852039166', '0.0.0.1']) {
  test(`${name} is never asked`, async () => {
    assert.match(await attempt(`http://${name}:${host.port}/`, { private: true }), /address that is never asked/);
  });
}

const answering =
  (...rounds: string[]): Lookup =>
  (_name, _options, callback) =>
    callback(null, [{ address: rounds.length > 1 ? (rounds.shift() ?? '') : (rounds[0] ?? ''), family: 4 }]);

test('a name that leads to a private address is not asked, whatever it led to before', async () => {
  const before = host.requests.length;
  const rebinding = answering('127.0.0.1');
  assert.match(await attempt(`http://rebind.example:${host.port}/ok`, { secure: true, lookup: rebinding }), loopback);
  assert.equal(host.requests.length, before);
});

test('the address that was checked is the one that is asked', async () => {
  let lookups = 0;
  const first: Lookup = (_name, _options, callback) =>
    callback(null, [{ address: ++lookups === 1 ? '127.0.0.1' : never, family: 4 }]);
  assert.equal(
    await attempt(`http://rebind.example:${host.port}/ok`, { private: true, secure: true, lookup: first }),
    'ko',
  );
  assert.equal(lookups, 1);
});

test('a redirect is checked again', async () => {
  // The first host is public by its name, as far as the resolver goes, and sends on to one that is not.
  const lookup: Lookup = (name, _options, callback) =>
    callback(null, [{ address: name === 'inner.example' ? never : '127.0.0.1', family: 4 }]);
  await using outer = await web({ '/': redirect(`http://inner.example:${host.port}/ok`) });
  const reason = await attempt(`http://outer.example:${outer.port}/`, { secure: true, private: true, lookup });
  assert.match(reason, /never asked/);
  assert.deepEqual(outer.requests, ['GET /']);
});

test('nothing stays open', async () => {
  for (let i = 0; host.open() > 0 && i < 1_000; i++) await setImmediate();
  assert.equal(host.open(), 0, 'connections');
  const files = async (): Promise<number> => (await readdir('/proc/self/fd')).length;
  const before = await files();
  for (const path of ['/ok', '/endless', '/truncated', '/to-file', '/500', '/not-gzip']) await attempt(host.url + path);
  for (let i = 0; host.open() > 0 && i < 1_000; i++) await setImmediate();
  assert.equal(await files(), before, 'descriptors');
});
