/** Calls of which every protocol must give the same result, or the same error. */
import { javascriptKo, resourceKo, welcomeKo } from './ko.ts';
import type { Ko } from './ko.ts';

export interface CallCase {
  readonly title: string;
  readonly kos: readonly Ko[];
  /** Path of the endpoint. */
  readonly path: string;
  /** JSON text. */
  readonly input: string;
  readonly expected:
    | { readonly result: unknown }
    | { readonly status: number; readonly code: string; readonly detail: string | RegExp };
}

/** `naan`: one that nobody else uses. */
export function callCases(naan: string): CallCase[] {
  const all: CallCase[] = [];
  const add = (title: string, kos: readonly Ko[], path: string, input: unknown, expected: CallCase['expected']): void =>
    void all.push({ title, kos, path: `/${naan}/${path}`, input: JSON.stringify(input), expected });

  const welcome = welcomeKo({ naan, name: 'welcome' });
  add(
    'an endpoint gives its result',
    [welcome],
    'welcome/1.0/welcome',
    { name: 'Ada' },
    {
      result: 'Welcome to the Knowledge Grid, Ada',
    },
  );
  const echo = javascriptKo('function run(input) { return input; }', { naan, name: 'echo' });
  for (const input of [{ ü: 'A " € 𝄞' }, [1, 2], 'text', 0, null, { n: 1.1 }])
    add(`the input is any JSON: ${JSON.stringify(input)}`, [echo], 'echo/1.0/run', input, { result: input });

  const versions = ['2.0', '10.0', '1.0'].map((n) =>
    javascriptKo(`function run() { return "${n}"; }`, { naan, name: 'many', version: `v${n}`, apiVersion: n }),
  );
  for (const [path, result] of Object.entries({ '1.0/run': '1.0', run: '10.0', 'v1.0/run': '1.0' }))
    add(`the version is a segment, or the newest: ${path}`, versions, `many/${path}`, {}, { result });

  const callee = javascriptKo('function run(input) { return { doubled: input.n * 2 }; }', { naan, name: 'callee' });
  const caller = javascriptKo(
    `function run(input) { return context.getExecutor("${naan}/callee/1.0/run").execute(input).doubled; }`,
    { naan, name: 'caller' },
  );
  add('code calls another knowledge object', [callee, caller], 'caller/1.0/run', { n: 21 }, { result: 42 });

  const thrown = {
    'null.x': "TypeError: Cannot read properties of null (reading 'x')",
    'throw new RangeError("too far")': 'RangeError: too far',
    'missing()': 'ReferenceError: missing is not defined',
    'throw "a text"': 'a text',
  };
  for (const [index, [code, message]] of Object.entries(thrown).entries()) {
    const name = `throws${index}`;
    const failing = javascriptKo(`function run() { ${code}; }`, { naan, name });
    const detail = `Code execution error: ${message}`;
    add(`code that throws: ${code}`, [failing], `${name}/1.0/run`, {}, { status: 500, code: 'code-error', detail });
  }
  add(
    'there is no such endpoint',
    [],
    'none/1.0/run',
    {},
    {
      status: 404,
      code: 'endpoint-not-found',
      detail: new RegExp(`^No active endpoints found for ${naan}/none/run`),
    },
  );
  const broken = javascriptKo('function run( {', { naan, name: 'broken' });
  add(
    'an endpoint failed to activate',
    [broken],
    'broken/1.0/run',
    {},
    {
      status: 404,
      code: 'endpoint-not-active',
      detail: /SyntaxError/,
    },
  );
  add(
    'an endpoint has files only',
    [resourceKo({ naan, name: 'files', resources: { 'a.txt': 'a' } })],
    'files/1.0/files',
    {},
    {
      status: 405,
      code: 'method-not-allowed',
      detail: /allowed: GET, HEAD/,
    },
  );
  const text = javascriptKo('function run(input) { return input; }', { naan, name: 'text', consumes: ['text/plain'] });
  add(
    'an endpoint takes no JSON',
    [text],
    'text/1.0/run',
    {},
    {
      status: 415,
      code: 'unsupported-media-type',
      detail: /does not support media type application\/json/,
    },
  );
  return all;
}
