import assert from 'node:assert/strict';
import { hostname } from 'node:os';
import { test } from 'node:test';
import { basicOf, createAccessApp, PASSWORD, USER, WITH_BASIC } from '../../test/access/access-app.ts';

const { app } = createAccessApp(WITH_BASIC);
const statusFor = async (authorization: string): Promise<number> =>
  (await app.inject({ method: 'DELETE', url: '/kos/a/b/v1', headers: { authorization } })).statusCode;
const encode = (text: string, encoding: BufferEncoding = 'utf8'): string =>
  Buffer.from(text, encoding).toString('base64');

test('user and password open what is secured; the password may hold colons and letters beyond ASCII', async () => {
  assert.equal(await statusFor(basicOf()), 200);
});

test('the scheme is compared without case and may be followed by more than one space', async () => {
  assert.equal(await statusFor(basicOf().replace('Basic', 'bAsIc')), 200);
  assert.equal(await statusFor(basicOf().replace(' ', '   ')), 200);
});

test('a letter that was typed as two code points is the same letter', async () => {
  assert.notEqual(PASSWORD.normalize('NFD'), PASSWORD);
  assert.equal(await statusFor(basicOf(USER, PASSWORD.normalize('NFD'))), 200);
});

test('what does not fit is 401', async () => {
  const good = encode(`${USER}:${PASSWORD}`);
  const wrong = {
    'wrong password': basicOf(USER, 'pass:word'),
    'password in part': basicOf(USER, PASSWORD.slice(0, -1)),
    'password with more': basicOf(USER, `${PASSWORD} `),
    'no password': basicOf(USER, ''),
    'wrong user': basicOf('Curator'),
    'user and password swapped': basicOf(PASSWORD, USER),
    'nothing but a colon': `Basic ${encode(':')}`,
    'no colon': `Basic ${encode(USER)}`,
    nothing: 'Basic',
    'nothing but a space': 'Basic ',
    'not encoded': `Basic ${USER}:${PASSWORD}`,
    'not base64 within': `Basic ${good.slice(0, 4)}*${good.slice(4)}`,
    'two credentials': `Basic ${good} ${good}`,
    'not UTF-8': `Basic ${encode(`${USER}:${PASSWORD}`, 'latin1')}`,
    'with a byte order mark': `Basic ${encode(`\uFEFF${USER}:${PASSWORD}`)}`,
    'another scheme': `Digest ${good}`,
    'the scheme glued on': `Basic${good}`,
    'as bearer': `Bearer ${good}`,
    'very long': basicOf(USER, 'x'.repeat(10_000)),
  };
  for (const [name, authorization] of Object.entries(wrong)) assert.equal(await statusFor(authorization), 401, name);
});

test('every refusal has the same body', async () => {
  const bodies = await Promise.all(
    ['', basicOf(USER, 'x'), basicOf('x'), 'Basic *', 'Bearer a.b.c'].map(
      async (authorization) => (await app.inject({ url: '/actuator/info', headers: { authorization } })).body,
    ),
  );
  assert.equal(new Set(bodies).size, 1);
});

test('no credentials reach the log', async () => {
  const { app: logging, lines } = createAccessApp(WITH_BASIC);
  await logging.inject({ url: '/actuator/info', headers: { authorization: basicOf('mal\nlory\u202e', 'mistyped') } });
  await logging.inject({ method: 'POST', url: '/kos', headers: { authorization: basicOf() } });
  await logging.inject({
    method: 'POST',
    url: 'http://curator:typed@host/kos',
    headers: { authorization: basicOf(USER, 'mistyped') },
  });
  await logging.close();
  const refused = lines.filter((line) => line.includes('login-refused')).map((line) => JSON.parse(line) as object);
  assert.deepEqual(
    refused.map((line) => ({ ...line, time: 0 })),
    [
      {
        ...{ level: 40, time: 0, pid: process.pid, hostname: hostname(), event: 'login-refused', reason: 'wrong' },
        ...{ user: 'mal\\u000alory\\u202e', cause: 'wrong user or password', requestId: 'req-1', times: 2 },
        ...{ remoteAddress: '127.0.0.1', msg: 'a login was refused' },
      },
    ],
  );
  assert.equal(lines.length, 3);
  assert.doesNotMatch(lines.join(), new RegExp(`typed|${encode(`${USER}:`).slice(0, 8)}|${PASSWORD}`));
});
