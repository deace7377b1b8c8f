import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkResult, inexactInput, mayLoseDigits } from './exact-numbers.ts';

const refused = async (literal: string, isNested: boolean): Promise<boolean> =>
  mayLoseDigits('node', literal) &&
  (await inexactInput('node', literal, isNested, (paths) => Promise.resolve(paths.map(() => false)))) !== undefined;

test('code may pass on a double with the digits that tell it from others, a client only what a double holds', async () => {
  const literals: [literal: string, ofClient: boolean, ofCode: boolean][] = [
    ['999999999999999', false, false],
    ['9007199254740991', false, false],
    ['9007199254740993', true, true],
    ['-9007199254740993', true, true],
    // 2 ** 64 as JSON.stringify writes it, and all its digits.
    ['18446744073709552000', true, false],
    ['18446744073709551616', false, false],
    ['18446744073709551617', true, true],
    ['100000000000000000000000', true, false],
    ['0.12345678901234567', false, false],
    ['12345678901234567.5', false, false],
    ['1e22', false, false],
    ['1e308', false, false],
    ['1e309', true, true],
    ['-1E+400', true, true],
    ['9'.repeat(400), true, true],
  ];
  for (const [literal, ofClient, ofCode] of literals)
    assert.deepEqual([await refused(literal, false), await refused(literal, true)], [ofClient, ofCode], literal);
});

test('for python nothing is looked at, nor digits in a text', async () => {
  assert.equal(mayLoseDigits('python', '12345678901234567890'), false);
  assert.equal(await refused('["12345678901234567890"]', false), false);
});

test('a result is refused for a number that no double reaches, however it is written', async () => {
  for (const number of ['1e309', '-1e999', '1E+400', '9'.repeat(310), `1${'0'.repeat(400)}.5`])
    await assert.rejects(checkResult(`{"a":[${number}]}`), {
      code: 'invalid-result',
      message: /Infinity at result\.a\[0\]$/,
    });
  for (const fine of ['1e308', '1e-999', `"1e999"`, `0.${'1'.repeat(400)}`, `"${'9'.repeat(400)}"`])
    await checkResult(`[${fine}]`);
});

test('others have their turn while a long text is gone through', async () => {
  let turns = 0;
  let turn = setImmediate(function next(): void {
    turns++;
    turn = setImmediate(next);
  });
  const text = `[${'1000000000000000000,1e300,'.repeat(100_000)}1]`;
  assert.equal(await refused(text, false), false);
  const ofInput = turns;
  await checkResult(text);
  clearImmediate(turn);
  assert.ok(ofInput > 10, `${ofInput} while an input was read`);
  assert.ok(turns - ofInput > 10, `${turns - ofInput} while a result was`);
});
