import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** What the log writes to standard output, line by line. */
async function linesOf(options: { level?: string; format: string }, code: string): Promise<string[]> {
  const program = `
    import { createLog } from ${JSON.stringify(new URL('./log.ts', import.meta.url).href)};
    import { Output } from ${JSON.stringify(new URL('./output.ts', import.meta.url).href)};
    const log = createLog(${JSON.stringify({ level: 'info', ...options })}, new Output(1));
    ${code}`;
  const { stdout, stderr } = await run(process.execPath, ['--input-type=module', '--eval', program]);
  assert.equal(stderr, '');
  return stdout.split('\n').slice(0, -1);
}

test('as text, a line has the time of day, the level, the message and what belongs to it', async () => {
  const lines = await linesOf(
    { format: 'text' },
    `log.info({ event: 'ready', endpoints: 3, ko: 'a/b/c', list: [1, 'x'], requestId: 'req-1' }, 'Ready');
     log.child({ part: 'shelf' }).warn('Nothing else');`,
  );
  assert.match(lines[0] ?? '', /^\d\d:\d\d:\d\d info {2}Ready {2}endpoints=3 ko=a\/b\/c list=\[1,"x"\]$/);
  assert.match(lines[1] ?? '', /^\d\d:\d\d:\d\d warn {2}Nothing else {2}part=shelf$/);
});

test('as text, an error comes with its stack, in one line', async () => {
  const lines = await linesOf({ format: 'text' }, `log.error({ err: new TypeError('broken') }, 'It failed');`);
  assert.match(lines[0] ?? '', /^\d\d:\d\d:\d\d error It failed {2}err=TypeError: broken\\n +at /);
  assert.equal(lines.length, 1);
});

test('as JSON, a line is an object with level and time in words', async () => {
  const [line = ''] = await linesOf({ format: 'json' }, `log.info({ event: 'listening', url: 'u' }, 'Listening');`);
  const { time, ...rest } = JSON.parse(line) as Record<string, unknown>;
  assert.deepEqual(rest, { level: 'info', event: 'listening', url: 'u', msg: 'Listening' });
  assert.match(String(time), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  const [automatic = ''] = await linesOf({ format: 'auto' }, `log.info('x');`);
  assert.equal((JSON.parse(automatic) as { msg: string }).msg, 'x', 'where nobody sits at a terminal');
});

test('only what reaches the level is written', async () => {
  const all = `for (const level of ['debug', 'info', 'warn', 'error']) log[level](level);`;
  const levelsOf = async (level: string): Promise<string[]> =>
    (await linesOf({ level, format: 'json' }, all)).map((line) => (JSON.parse(line) as { msg: string }).msg);
  assert.deepEqual(await levelsOf('debug'), ['debug', 'info', 'warn', 'error']);
  assert.deepEqual(await levelsOf('warn'), ['warn', 'error']);
  assert.deepEqual(await levelsOf('silent'), []);
});

test('credentials, headers and queries are never written', async () => {
  const secrets = `
    const headers = { authorization: 'Basic c2VjcmV0' };
    const req = { id: 'req-7', method: 'GET', url: '/kos?token=c2VjcmV0', headers };
    log.info({ headers, password: 'c2VjcmV0', token: 'c2VjcmV0', req, res: { headers } }, 'asked');`;
  for (const format of ['text', 'json']) {
    const [line = ''] = await linesOf({ format }, secrets);
    assert.match(line, /asked/);
    assert.doesNotMatch(line, /c2VjcmV0/);
  }
  const [line = ''] = await linesOf({ format: 'json' }, secrets);
  assert.deepEqual((JSON.parse(line) as { req: unknown }).req, { id: 'req-7', method: 'GET', path: '/kos' });
});

test('what others wrote neither ends a line nor steers a terminal, in any form', async () => {
  const hostile = 'a\x1b[2J\nb\r\tc\x7f\x9b1m\u2028d\u2029e\u202ef\u2066g\u200eh\ufeffi\u{e0041}j';
  const shown = 'a\\u001b[2J\\nb\\r\\tc\\u007f\\u009b1m\\u2028d\\u2029e\\u202ef\\u2066g\\u200eh\\ufeffi\\udb40\\udc41j';
  const code = `const text = ${JSON.stringify(hostile)};
    log.warn({ title: text + 'k', nested: { text }, [text]: 1, err: new Error(text) }, text);`;
  const [line = '', ...more] = await linesOf({ format: 'text' }, code);
  assert.deepEqual(more, []);
  assert.ok(line.includes(`warn  ${shown}  title=${shown}k nested={"text":"`), line);
  const [json = '', ...others] = await linesOf({ format: 'json' }, code);
  assert.deepEqual(others, []);
  assert.equal((JSON.parse(json) as { msg: string }).msg, hostile, 'nothing of it is lost');
  for (const each of [line, json]) assert.doesNotMatch(each, /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
});
