import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EXECUTION_ERRORS, ServiceError } from '../../lib/errors.ts';
import { failureIn, failureOf, resultOf } from './answers.ts';

const answer = (contentType: string, body: string | Buffer, status = 200) => ({
  status,
  contentType,
  body: Buffer.from(body),
});

test('JSON with a result is that result, other JSON is itself, anything else is a string', () => {
  const answers: [type: string, body: string, result: string][] = [
    ['application/json', '{"result": {"a": 1}, "info": 0}', '{"a":1}'],
    ['application/json; charset=utf-8', '{"result":null}', 'null'],
    ['APPLICATION/FHIR+JSON', '{"result":[]}', '[]'],
    ['application/json', '{"other": 1.0}', '{"other": 1.0}'],
    ['application/json', '[1]', '[1]'],
    ['application/json', '"text"', '"text"'],
    ['application/json', '\ufeff{"result":1}', '1'],
    ['text/plain', '{"result":1}', '"{\\"result\\":1}"'],
    ['', 'a\n"b"', '"a\\n\\"b\\""'],
    ['text/html; charset=utf-8', '<p>é</p>', '"<p>é</p>"'],
  ];
  for (const [type, body, result] of answers) assert.equal(resultOf(answer(type, body)), result, body);
});

test('an answer that calls itself JSON and is none, such as one that was cut off, is an error', () => {
  for (const body of ['{"result": {"dose": 4', '', '   ', '{"result":NaN}', Buffer.from('{"result":1}', 'utf16le')])
    assert.throws(() => resultOf(answer('application/json', body)), {
      code: 'invalid-result',
      message: /^Code execution error: the answer of the runtime is not JSON \(/,
    });
  const deep = `{"result":${'['.repeat(100_000)}${']'.repeat(100_000)},"info":1}`;
  assert.throws(() => resultOf(answer('application/json', deep)), { message: /nested too deeply/ });
});

test('a text is read in its charset', () => {
  assert.equal(resultOf(answer('text/plain; charset=iso-8859-1', Buffer.from('héllo', 'latin1'))), '"héllo"');
  assert.equal(resultOf(answer('text/plain; charset=none-such', 'héllo')), '"héllo"');
});

test('a result is always JSON, whatever bytes a runtime sends', () => {
  for (const bytes of [Buffer.from([0xff, 0x00, 0x22]), Buffer.from('\u2028'), Buffer.from('{"__proto__":1}')]) {
    assert.doesNotThrow(() => void JSON.parse(resultOf(answer('application/octet-stream', bytes))));
  }
});

test('an error has the first words that there are, cut where there are many', () => {
  const wordsOf = (body: string, type = 'application/json', status = 500): string => {
    try {
      resultOf(answer(type, body, status));
    } catch (thrown) {
      assert.ok(thrown instanceof ServiceError && EXECUTION_ERRORS.has(thrown.code));
      return thrown.message.replace('Code execution error: ', '');
    }
    return assert.fail('it was a result');
  };
  assert.equal(wordsOf('{"description":"a","error":"b","status":"c"}'), 'a');
  assert.equal(wordsOf('{"description":7,"error":"b"}'), 'b');
  assert.equal(wordsOf('{"description":"","status":"c"}', undefined, 400), 'c');
  assert.equal(wordsOf('plain', 'text/plain'), 'plain');
  assert.equal(wordsOf('', undefined, 502), 'the runtime answered 502');
  assert.equal(wordsOf('x'.repeat(2000), 'text/plain').length, 500);
  assert.equal(wordsOf('{"result":1}', undefined, 404), '{"result":1}');
});

test('503 is no failure of the code', () => {
  const error = failureOf(503, 'all workers are busy');
  assert.ok(error instanceof ServiceError);
  assert.deepEqual([error.status, error.message], [503, 'the runtime is busy: all workers are busy']);
  assert.match(error.headers['retry-after'] ?? '', /^\d+$/);
});

test('input is at fault only where the runtime says so with that title and status', () => {
  const errorOf = (status: number, body: object): ServiceError => {
    try {
      resultOf(answer('application/json', JSON.stringify(body), status));
    } catch (thrown) {
      if (thrown instanceof ServiceError) return thrown;
    }
    return assert.fail('it was a result');
  };
  for (const status of [400, 422]) {
    const { code, status: own, title, message } = errorOf(status, { title: 'Invalid Input', description: 'no age' });
    assert.deepEqual([code, own, title, message], ['invalid-input', status, 'Invalid Input', 'no age']);
    assert.equal(errorOf(status, { description: 'no age' }).status, 500);
    assert.equal(errorOf(status, { title: 'Bad Request', description: 'no age' }).status, 500);
  }
  assert.equal(errorOf(500, { title: 'Invalid Input', description: 'x' }).status, 500);
  assert.equal(errorOf(404, { title: 'Invalid Input', description: 'x' }).status, 500);
});

test('the place of a failure is taken where it is one', () => {
  const placeOf = (place: unknown) =>
    (failureIn(500, JSON.stringify({ description: 'x', place })) as ServiceError).place;
  assert.deepEqual(placeOf({ file: 'src/main.py', line: 12, more: 1 }), { file: 'src/main.py', line: 12 });
  for (const place of [
    undefined,
    null,
    'src/main.py line 12',
    [],
    { file: 'src/main.py' },
    { file: 'src/main.py', line: '12' },
    { file: 'src/main.py', line: 0 },
    { file: 'src/main.py', line: 1.5 },
    { file: '', line: 1 },
    { file: '/etc/passwd', line: 1 },
    { file: 'a\nb', line: 1 },
    { file: 'a\u001b[2J', line: 1 },
    { file: 'x'.repeat(301), line: 1 },
  ])
    assert.equal(placeOf(place), undefined, JSON.stringify(place));
});
