/** What knowledge objects print can be read, and how much the service logs can be changed, by those who may. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { jsonBody } from './support/client.ts';
import { pathOf } from './support/knowledge-grid.ts';
import { javascriptKo, uniqueNaan } from './support/ko.ts';
import type { Ko } from './support/ko.ts';
import { startService } from './support/service.ts';

const naan = uniqueNaan();
const service = await startService({ args: ['--log-executions'] });
after(() => service[Symbol.asyncDispose]());
const CODE = `function run({ level, text, times = 1 }) { for (let i = 0; i < times; i++) console[level](text); return times; }`;
const talking = javascriptKo(CODE, { naan, name: 'talking' });
const little = javascriptKo(CODE, { naan, name: 'little' });
const silent = javascriptKo('function run() { return 1; }', { naan, name: 'silent' });
const other = javascriptKo('function run(text) { console.log(text); return 1; }', { naan, name: 'other' });
await service.serve(talking, little, silent, other);

interface Line {
  readonly id: number;
  readonly time: string;
  readonly level: string;
  readonly text: string;
  readonly endpoint: string;
}
const consoleOf = async (ko: Ko, query = '') => {
  const answer = await service.get(`/actuator/logs/${ko.id}${query}`);
  const raw = answer.bytes.toString();
  return { ...answer, raw, ...(JSON.parse(raw) as { lines: Line[]; lost: number }) };
};
const say = async (input: object, ko = talking): Promise<void> => {
  assert.equal((await service.send('POST', pathOf(ko), jsonBody(input))).status, 200);
};

test('a knowledge object has its own lines, with time and level, whatever the log shows', async () => {
  await say({ level: 'debug', text: 'one' });
  await say({ level: 'error', text: 'two' });
  await service.send('POST', pathOf(other), jsonBody('of another'));
  const { status, lines, lost, headers } = await consoleOf(talking);
  assert.deepEqual([status, lost, headers['cache-control']], [200, 0, 'no-store']);
  const endpoint = pathOf(talking).slice(1);
  assert.deepEqual(
    lines.map(({ id, time, ...line }) => [typeof id, Date.now() - Date.parse(time) < 600_000, line]),
    [
      ['number', true, { level: 'debug', text: 'one', endpoint }],
      ['number', true, { level: 'error', text: 'two', endpoint }],
    ],
  );
  assert.deepEqual(
    (await consoleOf(talking, '?level=warn')).lines.map(({ text }) => text),
    ['two'],
  );
  assert.deepEqual(
    (await consoleOf(talking, `?after=${lines[0]?.id ?? 0}`)).lines.map(({ text }) => text),
    ['two'],
  );
  assert.deepEqual((await consoleOf(silent)).lines, []);
  assert.equal((await service.get(`/actuator/logs/${naan}/nobody/v1.0`)).status, 404);
  for (const query of ['?limit=0', '?limit=1001', '?level=loud', '?after=x'])
    assert.equal((await service.get(`/actuator/logs/${talking.id}${query}`)).status, 400, query);
});

test('no line can steer a terminal, pass for another, or be as large as it likes', async () => {
  const evil = '\u001b[2J\u009b31m\u202eevil\u0000\r\n{"level":"info","msg":"forged"}';
  await say({ level: 'log', text: evil });
  await say({ level: 'log', text: 'x'.repeat(300_000) });
  const { raw, lines } = await consoleOf(talking);
  assert.doesNotMatch(raw, /[\p{Cc}\p{Cf}]/u);
  assert.equal(lines.at(-2)?.text, evil);
  assert.ok((lines.at(-1)?.text.length ?? 0) <= 4001);
});

test('code that prints without end keeps its latest lines, and takes none from others', async () => {
  for (let i = 0; i < 40; i++) await say({ level: 'log', text: `${i} ${'y'.repeat(1900)}`, times: 1000 });
  const { lines, lost, raw } = await consoleOf(talking, '?limit=1000');
  assert.match(String(lines.at(-1)?.text), /^39 /);
  assert.ok(lost > 1000 && lines.length <= 1000 && raw.length < 1_000_000);
  assert.deepEqual(
    (await consoleOf(other)).lines.map(({ text }) => text),
    ['of another'],
  );
});

test('the level of the log changes while the service runs, of a part or of all, and the audit tells who did it', async () => {
  const levels = async (name = ''): Promise<unknown> =>
    JSON.parse((await service.get(`/actuator/loggers${name}`)).bytes.toString()) as unknown;
  const set = async (name: string, configuredLevel: unknown): Promise<number> =>
    (await service.send('POST', `/actuator/loggers/${name}`, jsonBody({ configuredLevel }))).status;
  const { levels: words, loggers } = (await levels()) as { levels: string[]; loggers: Record<string, unknown> };
  assert.deepEqual(words, ['OFF', 'ERROR', 'WARN', 'INFO', 'DEBUG']);
  assert.deepEqual(loggers['ROOT'], { configuredLevel: 'INFO', effectiveLevel: 'INFO' });
  assert.deepEqual(loggers['http'], { effectiveLevel: 'WARN' });
  assert.equal(await set('javascript', 'debug'), 204);
  assert.deepEqual(await levels('/javascript'), { configuredLevel: 'DEBUG', effectiveLevel: 'DEBUG' });
  await say({ level: 'debug', text: 'shown now' }, little);
  await service.logged(({ msg, level }) => msg === 'shown now' && level === 'debug');
  assert.equal(await set('ROOT', 'WARN'), 204);
  const { headers } = await service.send('POST', pathOf(silent), jsonBody(1));
  assert.equal(await set('javascript', null), 204);
  assert.deepEqual(await levels('/javascript'), { effectiveLevel: 'WARN' });
  assert.equal(await set('ROOT', 'INFO'), 204);
  assert.deepEqual(((await levels()) as { loggers: unknown }).loggers, loggers);
  const id = headers['kgrid-execution-id'];
  const next = await service.send('POST', pathOf(silent), jsonBody(1));
  await service.logged(({ executionId }) => executionId === next.headers['kgrid-execution-id']);
  assert.equal(
    service.log.some(({ executionId }) => executionId === id),
    false,
  );
  const { list } = await service.get('/actuator/audit?limit=4');
  assert.deepEqual(
    list.map(({ action, subject, outcome }) => [action, subject, outcome]),
    [
      ['log-level', 'ROOT info', 'done'],
      ['log-level', 'javascript as all', 'done'],
      ['log-level', 'ROOT warn', 'done'],
      ['log-level', 'javascript debug', 'done'],
    ],
  );
});

test('a change that is none changes nothing and says why', async () => {
  const cases: [string, string, number][] = [
    ['nobody', '{"configuredLevel":"INFO"}', 404],
    ['__proto__', '{"configuredLevel":"INFO"}', 404],
    ['ROOT', '{"configuredLevel":"LOUD"}', 400],
    ['ROOT', '{"configuredLevel":null}', 400],
    ['ROOT', '{"level":"INFO"}', 400],
    ['ROOT', '[]', 400],
    ['ROOT', '{', 400],
  ];
  const headers = { 'content-type': 'application/json' };
  for (const [name, body, status] of cases)
    assert.equal((await service.send('POST', `/actuator/loggers/${name}`, { headers, body })).status, status, body);
  const form = { headers: { 'content-type': 'text/plain' }, body: '{"configuredLevel":"OFF"}' };
  assert.equal((await service.send('POST', '/actuator/loggers/ROOT', form)).status, 415);
  assert.equal((await service.get('/actuator/loggers/nobody')).status, 404);
});

test('without a login nobody reads a console or a level, or changes one; audit lines stay at every level', async () => {
  const env = { KGRID_USER: 'ann', KGRID_PASSWORD: 'secret' };
  await using secure = await startService({ profile: 'secure', env, credentials: 'ann:secret' });
  const anonymous = (path: string, init?: RequestInit): Promise<Response> => fetch(secure.url + path, init);
  const level = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"configuredLevel":"OFF"}' };
  for (const path of [`/actuator/logs/${talking.id}`, '/actuator/loggers', '/actuator/loggers/ROOT'])
    assert.equal((await anonymous(path)).status, 401, path);
  assert.equal((await anonymous('/actuator/loggers/ROOT', level)).status, 401);
  const foreign = { ...level.headers, origin: 'https://page.example' };
  const crossSite = await secure.send('POST', '/actuator/loggers/ROOT', { headers: foreign, body: level.body });
  assert.equal(crossSite.status, 403);
  assert.equal((await secure.send('POST', '/actuator/loggers/ROOT', jsonBody({ configuredLevel: 'OFF' }))).status, 204);
  await secure.send('POST', '/actuator/loggers/ROOT', jsonBody({ configuredLevel: 'INFO' }));
  await secure.logged(({ action, subject, who }) => action === 'log-level' && subject === 'ROOT info' && who === 'ann');
});

test('what a knowledge object printed goes with the last of it, and does not come back with another of its id', async () => {
  const passing = javascriptKo(CODE, { naan, name: 'passing' });
  await service.serve(passing);
  await say({ level: 'info', text: 'of a patient' }, passing);
  await service.delete(`/kos/${passing.id}`);
  // Its endpoint is active until a refresh.
  assert.equal((await consoleOf(passing)).lines.length, 1);
  await service.get('/actuator/refresh');
  assert.equal((await service.get(`/actuator/logs/${passing.id}`)).status, 404);
  await service.serve(passing);
  assert.deepEqual((await consoleOf(passing)).lines, []);
  await say({ level: 'info', text: 'kept over a refresh' }, passing);
  await service.get('/actuator/refresh');
  assert.equal((await consoleOf(passing)).lines.length, 1);
});
