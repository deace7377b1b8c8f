/** Knowledge objects that deploy nothing and offer a library. */
import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import type { Answer, JsonObject } from './support/client.ts';
import { CONTEXT, secondClient, uniqueWord } from './support/second-generation.ts';
import type { Files } from './support/second-generation.ts';
import { startService, temporaryFolder } from './support/service.ts';
import { until } from '../runtimes/support/until.ts';
import { longTest } from '../support/round.ts';

const WORKERS = ['--runtimes', 'node,python'];
const MINIMAL = { accept: 'application/json;profile="minimal"' };

const service = await startService({ args: WORKERS });
after(() => service[Symbol.asyncDispose]());
const { serve, endpointsAt } = secondClient(service);

const library = (id: string, file: unknown, more: object = {}): object => ({
  '@id': id,
  '@type': 'library',
  implementedBy: file,
  ...more,
});

function libraryKo(
  services: readonly object[],
  files: Files,
  atId = `https://example.org/kos/${uniqueWord('lib')}`,
): Files {
  const metadata = {
    ...{ '@context': CONTEXT, '@id': atId, '@type': ['koio:KnowledgeObject'] },
    ...{ 'dc:title': 'A library', 'dc:description': 'Scores', 'dc:version': '1.0', 'koio:hasService': services },
  };
  return { 'metadata.json': JSON.stringify(metadata), ...files };
}

const nameOf = (place: string): string => place.slice(0, place.lastIndexOf('/'));
const call = (place: string, name: string, input: unknown, from: typeof service = service): Promise<Answer> =>
  from.post(`/${nameOf(place)}/1.0/${name}`, input, MINIMAL);

/** Status and detail by the name of the endpoint. */
/** Once each is decided: workers load their code beside a reload. */
async function statesAt(place: string): Promise<Record<string, string>> {
  const found = await until('all are decided', async () => {
    const each = await endpointsAt(place);
    return each.some(({ status }) => status === 'LOADED') ? undefined : each;
  });
  return Object.fromEntries(
    found.map((each) => [
      String(each['@id']).slice(nameOf(place).length + '/1.0/'.length),
      `${String(each['status'])}${typeof each['detail'] === 'string' ? `: ${each['detail']}` : ''}`,
    ]),
  );
}

const MODULE = `
export const MOST = 9;
export class Score {}
export const score = ({ age }) => ({ points: age >= 75 ? 2 : 0 });
export async function later(input) { await null; return [input]; }
export function _hidden() {}
export function $odd() {}
export default ({ a, b }) => a + b;
`;

test('each function that a module exports is an endpoint, and the default export has the name of the service', async () => {
  const atId = `https://example.org/kos/${uniqueWord('lib')}`;
  const place = await serve(libraryKo([library('_:sum', './src/score.mjs')], { 'src/score.mjs': MODULE }, atId));
  assert.deepEqual(await statesAt(place), { later: 'ACTIVATED', score: 'ACTIVATED', sum: 'ACTIVATED' });
  assert.deepEqual((await call(place, 'score', { age: 80 })).json, { points: 2 });
  assert.deepEqual((await call(place, 'later', { a: 1 })).json, [{ a: 1 }]);
  assert.equal((await call(place, 'sum', { a: 1, b: 2 })).json, 3);
  assert.equal((await call(place, 'Score', {})).status, 404);
  for (const spelled of [atId, encodeURIComponent(atId)]) {
    const answer = await service.post(`/endpoints/${spelled}/score`, { age: 80 });
    assert.deepEqual(answer.object['result'], { points: 2 });
  }
});

test('CommonJS, TypeScript and Python are libraries too, whatever their type is called', async () => {
  const place = await serve(
    libraryKo(
      [
        { '@id': 'old', '@type': ['x', 'koio:Library'], implementedBy: { '@id': 'src/old.js', '@type': 'JavaScript' } },
        { '@id': 'typed', '@type': 'https://kgrid.org/koio/LIBRARY', 'koio:implementedBy': ['src/typed.ts'] },
        library('py', { '@id': 'src/py.py', '@type': 'Python' }),
        { '@id': 'tool', '@type': 'cli', implementedBy: 'bin/tool.js' },
      ],
      {
        'package.json': '{"name":"old","version":"1.0.0"}',
        'src/old.js': 'module.exports = (x) => ({ x }); module.exports.helper = () => "h"; module.exports.K = 3;',
        'src/typed.ts': "import type { N } from './n.ts';\nexport const twice = ({ x }: { x: N }): N => 2 * x;",
        'src/n.ts': 'export type N = number;',
        'src/py.py':
          'from math import sqrt\nfrom functools import cache\nPI = 3\nclass Thing: pass\n@cache\ndef three(i): return 3\ndef area(i): return PI * i["r"] ** 2\nasync def slow(i): return "slow"\ndef _no(i): pass\n',
      },
    ),
  );
  const active = ['area', 'helper', 'old', 'slow', 'three', 'twice'];
  assert.deepEqual(await statesAt(place), Object.fromEntries(active.map((name) => [name, 'ACTIVATED'])));
  const results = await Promise.all([
    call(place, 'old', 1),
    call(place, 'helper', null),
    call(place, 'twice', { x: 4 }),
    call(place, 'area', { r: 2 }),
    call(place, 'slow', {}),
  ]);
  assert.deepEqual(
    results.map(({ json }) => json),
    [{ x: 1 }, 'h', 8, 12, 'slow'],
  );
});

test('a file that does not load fails under the name of its service, and the others serve', async () => {
  const place = await serve(
    libraryKo(
      [
        library('good', 'good.mjs'),
        library('thrown', 'thrown.mjs'),
        library('gone', 'gone.mjs'),
        library('empty', 'empty.mjs'),
      ],
      {
        'good.mjs': 'export const one = () => 1;',
        'thrown.mjs': '\nthrow new Error("no way");',
        'empty.mjs': 'export const K = 1; export class Only {}',
      },
    ),
  );
  const states = await statesAt(place);
  assert.deepEqual(Object.keys(states), ['empty', 'gone', 'one', 'thrown']);
  assert.equal(states['one'], 'ACTIVATED');
  assert.match(states['thrown'] ?? '', /^FAILED_TO_ACTIVATE: Error: no way \(thrown\.mjs line 2\)$/);
  assert.match(states['gone'] ?? '', /^FAILED_TO_ACTIVATE: gone\.mjs, which a library .* is not in the package/);
  assert.match(states['empty'] ?? '', /^FAILED_TO_ACTIVATE: empty\.mjs exports no function that can be an endpoint/);
  assert.equal((await call(place, 'one', {})).json, 1);
});

test('of two services that export one name the first counts, and detail names the other', async () => {
  const place = await serve(
    libraryKo([library('a', 'a.mjs'), library('b', 'b.mjs')], {
      'a.mjs': 'export const same = () => "a";',
      'b.mjs': 'export const same = () => "b"; export const own = () => "own";',
    }),
  );
  const states = await statesAt(place);
  assert.equal(states['own'], 'ACTIVATED');
  assert.match(states['same'] ?? '', /^ACTIVATED: .*b \(b\.mjs\) exports one of that name too/);
  assert.equal((await call(place, 'same', {})).json, 'a');
});

test('a library has a service descriptor that nobody wrote', async () => {
  const described = { 'dc:description': 'Adds up' };
  const place = await serve(libraryKo([library('sum', 's.mjs', described)], { 's.mjs': MODULE }));
  const [first] = await endpointsAt(place);
  const path = String(first?.['hasServiceSpecification']);
  assert.equal(path, `/kos/${place}/service.yaml`);
  const answer = await service.get(path);
  assert.match(String(answer.headers['content-type']), /^application\/yaml/);
  const descriptor = JSON.parse(answer.text) as { info: JsonObject; paths: Record<string, { post: JsonObject }> };
  assert.deepEqual(descriptor.info, { title: 'A library', description: 'Scores', version: '1.0' });
  assert.deepEqual(Object.keys(descriptor.paths).sort(), ['/later', '/score', '/sum']);
  assert.equal(descriptor.paths['/sum']?.post['description'], 'Adds up');
  assert.equal((await service.get(path, { 'if-none-match': String(answer.headers['etag']) })).status, 304);
  const form = (await service.get(`/doc/forms/${place}`)).list;
  assert.deepEqual(
    form.map(({ name, status }) => [name, status]),
    [
      ['later', 'ACTIVATED'],
      ['score', 'ACTIVATED'],
      ['sum', 'ACTIVATED'],
    ],
  );
  assert.deepEqual((await service.get(`/doc/about/${place}`)).object['descriptor'], 'service.yaml');
  const atId = String((await service.get(`/kos/${place}`)).object['@id']);
  assert.equal((await service.get(`/kos/${encodeURIComponent(atId)}/service`)).text, answer.text);
});

longTest('refresh lists the functions again, and a reload takes those of new content', async () => {
  const atId = `https://example.org/kos/${uniqueWord('lib')}`;
  const place = await serve(libraryKo([library('s', 's.mjs')], { 's.mjs': 'export const one = () => 1;' }, atId));
  for (const what of ['refresh', 'refresh/node', `refresh/${nameOf(place)}`]) {
    assert.equal((await service.get(`/actuator/activation/${what}`)).status, 303);
    assert.deepEqual(await statesAt(place), { one: 'ACTIVATED' }, what);
  }
  await serve(libraryKo([library('s', 's.mjs')], { 's.mjs': 'export const two = () => 2;' }, atId));
  assert.deepEqual(await statesAt(place), { two: 'ACTIVATED' });
  assert.equal((await call(place, 'one', {})).status, 404);
  assert.equal((await call(place, 'two', {})).json, 2);
  const lines = await service.send('POST', `/${nameOf(place)}/1.0/two`, {
    headers: { 'content-type': 'application/x-ndjson', accept: 'application/x-ndjson' },
    body: '{}\n{}\n',
  });
  assert.deepEqual(
    lines.text
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as JsonObject)['result']),
    [2, 2],
  );
});

test('a call that comes while a start still loads a library waits for its function', async () => {
  await using shelf = await temporaryFolder();
  const files = libraryKo(
    [library('s', 's.mjs')],
    {
      's.mjs': 'await new Promise((done) => setTimeout(done, 1500));\nexport const one = () => 1;',
    },
    'slow-library',
  );
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(shelf.path, 'ko', path)), { recursive: true });
    await writeFile(join(shelf.path, 'ko', path), text);
  }
  await using starting = await startService({ shelf: shelf.path, args: WORKERS, early: true });
  const answer = await call('kgrid/slow.library/1.0', 'one', {}, starting);
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.json, 1);
});

test('the workers of the service are among the runtimes, without an address', async () => {
  const { list } = await service.get('/proxy/environments');
  assert.deepEqual(
    list.map(({ engine, url, status }) => [engine, url, status]),
    [
      ['node', undefined, 'up'],
      ['python', undefined, 'up'],
    ],
  );
  assert.equal((await service.get('/proxy/environments/python')).object['engine'], 'python');
});

test('outside dev a library has no endpoint unless the operator says so', async () => {
  const secured = { profile: 'secure', env: { KGRID_USER: 'a', KGRID_PASSWORD: 'b' }, credentials: 'a:b' } as const;
  const files = libraryKo([library('s', 's.mjs')], { 's.mjs': 'export const one = () => 1;' });
  await using closed = await startService({ ...secured, args: WORKERS });
  const place = await secondClient(closed).serve(files);
  assert.deepEqual(await secondClient(closed).endpointsAt(place), []);
  assert.match(
    String((await call(place, 'one', {}, closed)).object['Detail']),
    /deploys no endpoint; --serve-libraries on makes endpoints of the functions of its library/,
  );
  const health = (await closed.get('/actuator/health')).text;
  assert.doesNotMatch(health, /"cause"/);
  await using open = await startService({ ...secured, args: [...WORKERS, '--serve-libraries', 'on'] });
  await secondClient(open).serve(files);
  assert.equal((await call(place, 'one', {}, open)).json, 1);
});

longTest(
  'a knowledge object with too many functions or files of libraries says so, however they are divided',
  async () => {
    const names = (of: string): string[] => Array.from({ length: 600 }, (_, at) => `${of}${String(at)}`);
    const file = (of: string): string =>
      `const f = () => 1; export { ${names(of)
        .map((name) => `f as ${name}`)
        .join(', ')} };`;
    const functions = await serve(
      libraryKo([library('_:one', './a.mjs'), library('_:two', './b.mjs')], { 'a.mjs': file('a'), 'b.mjs': file('b') }),
    );
    const states = Object.values(await statesAt(functions));
    const failed = states.filter((state) => state !== 'ACTIVATED');
    assert.equal(states.length, 601);
    assert.equal(failed.length, 1);
    assert.match(failed.join(''), /and the other files of its libraries export more than 1000 functions/);
    const many = Array.from({ length: 101 }, (_, at) => library(`_:s${String(at)}`, `./f${String(at)}.mjs`));
    const files = await serve(
      libraryKo(many, Object.fromEntries(many.map((_, at) => [`f${String(at)}.mjs`, 'export const f = 1;']))),
    );
    assert.deepEqual(await statesAt(files), {
      s0: 'FAILED_TO_ACTIVATE: the libraries in metadata.json name more than 100 files: divide them among knowledge objects',
    });
  },
);
