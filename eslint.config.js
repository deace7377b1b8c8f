import eslint from '@eslint/js';
import regexp from 'eslint-plugin-regexp';
import tseslint from 'typescript-eslint';

export default tseslint.config(
  { ignores: ['node_modules/', 'dist/', 'examples/', '.data/', '**/fixtures/**', 'templates/'] },
  {
    files: ['**/*.ts'],
    extends: [eslint.configs.recommended, tseslint.configs.recommendedTypeChecked],
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      '@typescript-eslint/no-floating-promises': [
        'error',
        // node:test collects the promises of its own calls.
        {
          allowForKnownSafeCalls: [
            {
              from: 'package',
              package: 'node:test',
              name: ['test', 'it', 'describe', 'suite', 'before', 'after', 'beforeEach', 'afterEach'],
            },
          ],
        },
      ],
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-non-null-assertion': 'error',
      '@typescript-eslint/only-throw-error': 'error',
      '@typescript-eslint/consistent-type-imports': 'error',
      'max-lines': ['error', { max: 300, skipBlankLines: true, skipComments: true }],
    },
  },
  {
    files: ['src/**', 'cli/**', 'runtimes/**'],
    ignores: ['**/*.test.ts', '**/test/**', '**/bench.ts'],
    rules: {
      'no-restricted-syntax': [
        'error',
        {
          selector:
            'CallExpression[callee.name=/^(spawn|spawnSync|fork|execFile|execFileSync)$/]:not(:has(Property[key.name="env"]))',
          message: 'What is started must not inherit the environment, which holds secrets: give it an env.',
        },
      ],
    },
  },
  {
    files: ['src/**'],
    ignores: ['src/engines/sandbox/work.ts'],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          patterns: [
            {
              regex: '/pending-call\\.ts$',
              importNames: ['changeOpen', 'putBack', 'settle', 'take'],
              message: 'The life of a call has one owner: work.ts takes these steps.',
            },
          ],
        },
      ],
    },
  },
  {
    // Text from outside may be as its author likes: no expression may take more time than grows with it.
    files: ['src/**/*.{ts,js}', 'cli/**/*.{ts,js}', 'runtimes/node/**/*.{ts,js}'],
    ignores: ['**/*.test.ts', 'runtimes/node/test/**'],
    plugins: { regexp },
    rules: {
      'regexp/no-super-linear-backtracking': ['error', { report: 'potential' }],
      'regexp/no-super-linear-move': ['error', { report: 'potential', ignorePartial: false, ignoreSticky: false }],
    },
  },
);
