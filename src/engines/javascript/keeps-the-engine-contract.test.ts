import { engineConformance } from '../../../test/conformance/engine.ts';
import { TestJavascript } from '../../../test/support/javascript.ts';

const MAX_RESULT_BYTES = 100_000;
/** Of what does not end. */
const LIMIT_MS = 500;
const script = (code: string) => ({ files: { 'src/index.js': code }, function: 'run' });

const CODES: Parameters<typeof engineConformance>[1] = {
  echo: script('const run = (input) => input;'),
  broken: [
    { ...script('function run() {\n  return }}\n'), at: /^SyntaxError: .* \(src\/index\.js line 2, column \d+\)$/ },
    { ...script('const a = 1;\n\nmissing();'), at: /^ReferenceError: missing .*src\/index\.js.*3/ },
    { ...script('const walk = 1;'), at: /no function 'run' in src\/index\.js/ },
  ],
  endless: { ...script('function run() { for (;;); }'), timeout: LIMIT_MS },
  endlessActivation: { ...script('for (;;); function run() {}'), timeout: LIMIT_MS },
  failing: {
    ...script('function run() { return missing; }'),
    says: /^Code execution error: ReferenceError: missing/,
  },
};

for (const isolation of ['shared', 'ko'] as const)
  engineConformance(`javascript, ${isolation}`, CODES, () => {
    const javascript = new TestJavascript({ maxResult: MAX_RESULT_BYTES, isolation });
    return Promise.resolve({
      engine: javascript.engine,
      maxResultBytes: MAX_RESULT_BYTES,
      [Symbol.asyncDispose]: () => javascript[Symbol.asyncDispose](),
    });
  });
