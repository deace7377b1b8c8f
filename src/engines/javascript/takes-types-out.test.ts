import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { TestJavascript } from '../../../test/support/javascript.ts';
import type { PlanParts } from '../../../test/support/javascript.ts';
import { ServiceError } from '../../lib/errors.ts';
import { TypeStripper } from './typescript/type-stripper.ts';

const javascript = new TestJavascript();
after(() => javascript[Symbol.asyncDispose]());

const resultOf = async (code: string, input?: unknown, parts: PlanParts = {}): Promise<unknown> =>
  javascript.call(await javascript.activate(code, { entry: 'src/main.ts', ...parts }), input);

const failureOf = async (code: string, parts: PlanParts = {}): Promise<string> =>
  javascript.activate(code, { entry: 'src/main.ts', ...parts }).then(
    () => assert.fail('it was activated'),
    (thrown: Error) => thrown.message,
  );

const TYPED = `interface Patient { readonly age: number }
type Risk = 'low' | 'high';
const limit: number = 65 as const satisfies number;
export function run(patient: Patient, ..._rest: unknown[]): Risk {
  return patient!.age > limit ? 'high' : 'low';
}
`;

test('TypeScript runs without its types, as module and as script', async () => {
  assert.equal(await resultOf(TYPED, { age: 70 }), 'high');
  assert.equal(await resultOf(TYPED.replace('export ', ''), { age: 60 }), 'low');
  assert.equal(await resultOf(TYPED, { age: 70 }, { entry: 'src/main.mts' }), 'high');
});

test('lines and columns stay where they were', async () => {
  const code = `import type { Patient } from './types.ts';
type Wide = {
  a: number;
};
export const run = (input: Wide): number => { const wide: Wide = input; return (wide as any).b.c; };
`;
  const executor = await javascript.activate(code, { entry: 'src/main.ts' });
  await assert.rejects(javascript.call(executor, {}), (thrown: unknown) => {
    assert.ok(thrown instanceof ServiceError);
    assert.deepEqual(thrown.place, { file: 'src/main.ts', line: 5 });
    return true;
  });
  const atTop = 'const a: number = 1;\ntype B = string;\n  missing<B>();\nexport const run = () => a;';
  assert.equal(await failureOf(atTop), 'ReferenceError: missing is not defined (src/main.ts line 3, column 3)');
});

test('what cannot be taken out is named with its file and line', async () => {
  const refused = {
    'export const run = () => 1;\nenum Risk { low }': /^TypeScript enum .*plain JavaScript \(src\/main\.ts line 2\)$/,
    'export const run = () => 1;\nnamespace A { export const b = 1; }': /^TypeScript namespace .* line 2\)$/,
    'class A {\n constructor(private a: number) {} }\nexport const run = () => 1;':
      /^TypeScript parameter property .* line 2\)$/,
    'export const run = () => <number>1;': /angle-bracket.* \(src\/main\.ts line 1\)$/,
    'export const run = () => 1;\nconst a = ;': /^SyntaxError: Expression expected \(src\/main\.ts line 2\)$/,
    "import { a } from './lib.ts'; export const run = a;": /^TypeScript enum .* \(lib\.ts line 1\)$/,
  };
  for (const [code, words] of Object.entries(refused)) {
    const entry = code.includes('lib.ts') ? 'main.ts' : 'src/main.ts';
    const message = await failureOf(code, { entry, unlisted: { 'lib.ts': 'export enum a { b }' } });
    assert.match(message, words);
    assert.doesNotMatch(message, /strip|node:/);
  }
});

test('a file that cannot be loaded is no fault of code that does not load it', async () => {
  const files = { 'src/other.ts': 'enum A { b }' };
  assert.equal(await resultOf("export const run = () => './other.ts';", null, { files }), './other.ts');
});

test('an import of nothing but types imports nothing, also where it does not say so', async () => {
  const files = {
    'types.ts': 'export interface Patient { age: number }\nexport type Sex = string;\nexport const limit: number = 3;',
    'index.ts': "export * from './types.ts';",
  };
  const code = `import { Patient, limit as most, Sex as S } from '../types.ts';
import { Patient as Same } from '../index.ts';
export default (input: Patient & Same, sex?: S): number => input.age + most;`;
  assert.equal(await resultOf(code, { age: 1 }, { unlisted: files, function: undefined }), 4);
  const missing = "import { Other } from '../types.ts'; export const run = () => Other;";
  assert.match(await failureOf(missing, { unlisted: files }), /export named 'Other'/);
});

test('the parser cannot be kept at work, brought to an end, or made to give wrong answers to others', async () => {
  await using stripper = new TypeStripper({ timeout: 1000 });
  /** Others may keep the cores busy, so that even this takes more than its time. */
  const fine = async (triesLeft = 30): Promise<void> => {
    const [outcome] = await Promise.allSettled([stripper.strip('a.ts', 'let a: b;')]);
    if (outcome.status === 'rejected' && triesLeft > 0) {
      assert.match(String(outcome.reason), /takes more than 1 s/);
      return fine(triesLeft - 1);
    }
    assert.deepEqual(outcome, { status: 'fulfilled', value: { text: 'let a   ;', types: [] } });
  };
  const attacks: [string, RegExp][] = [
    [`x=${'a?(b):c=>'.repeat(40)}1`, /^a\.ts takes more than 1 s, which is too much TypeScript/],
    [`x=${'['.repeat(300_000)}${']'.repeat(300_000)}`, /^a\.ts is nested too deeply/],
    ['{'.repeat(300_000), /^a\.ts is nested too deeply/],
    ['('.repeat(1_000_000), /^a\.ts is nested too deeply/],
    ['let a: b;\n'.repeat(1_000_000), /^a\.ts has more than 2 million characters/],
  ];
  await fine();
  for (const [text, words] of attacks) {
    const [attack] = await Promise.allSettled([stripper.strip('a.ts', text), fine()]);
    assert.ok(attack.status === 'rejected');
    assert.match((attack.reason as Error).message, words);
    await fine();
  }
});
