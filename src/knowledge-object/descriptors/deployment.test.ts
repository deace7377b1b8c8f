import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '../../lib/errors.ts';
import { parseDeployment } from './deployment.ts';
import type { DeploymentEntry } from './deployment.ts';

const entries = (text: string): DeploymentEntry[] =>
  [...parseDeployment(text, 'deployment.yaml').endpoints.values()].flat();

const only = (text: string): DeploymentEntry => {
  const [entry, ...others] = entries(text);
  assert.ok(entry !== undefined && others.length === 0, 'one entry');
  return entry;
};

test('an endpoint has its path, method, engine, artifact and function, and all else the descriptor says', () => {
  const text = `/score:
  post:
    artifact: ./src/index.js
    engine: JavaScript
    function: main
    isolation: call
    timeout: 1500
    weights: {a: [1, 2.50], b: null}
`;
  assert.deepEqual(only(text), {
    path: '/score',
    method: 'post',
    engine: 'javascript',
    artifacts: ['src/index.js'],
    entry: 'src/index.js',
    function: 'main',
    isolation: 'call',
    timeout: 1500,
    raw: { isolation: 'call', timeout: 1500, weights: { a: [1, 2.5], b: null } },
    line: 2,
    problems: [],
  });
});

const body = 'artifact: a.js, engine: node, function: f';

/** Each gives the endpoints listed, `path method engine entry[artifacts]`, none with a problem. */
const accepted: [string, string, string[]][] = [
  [
    'two methods',
    `/a:\n  post: {${body}}\n  get: {artifact: x, engine: resource}`,
    ['/a post node a.js', '/a get resource x'],
  ],
  ['several endpoints', `/a: {post: {${body}}}\n/b: {post: {${body}}}`, ['/a post node a.js', '/b post node a.js']],
  ['a path of several segments', `/a/b.c/d~1: {post: {${body}}}`, ['/a/b.c/d~1 post node a.js']],
  ['a path with a slash at its end', `/a/: {post: {${body}}}`, ['/a post node a.js']],
  ['a path without a slash', `a: {post: {${body}}}`, ['/a post node a.js']],
  ['a quoted path', `"/a": {'post': {${body}}}`, ['/a post node a.js']],
  ['a method in capitals', `/a: {POST: {${body}}}`, ['/a post node a.js']],
  ['an engine with a name', '/a: {post: {artifact: a.js, engine: {name: Node, version: 12}}}', ['/a post node a.js']],
  [
    'the older shape',
    `endpoints:\n  /a: {${body}}\n  /b: {artifact: x, engine: resource}`,
    ['/a post node a.js', '/b get resource x'],
  ],
  ['the older shape with methods', `endpoints:\n  /a: {post: {${body}}}`, ['/a post node a.js']],
  ['a list of artifacts', '/a: {post: {artifact: [a.js, ./b.js], engine: node}}', ['/a post node a.js,b.js']],
  [
    'a list with an entry',
    '/a: {post: {artifact: [a.js, b.js], entry: ./b.js, engine: node}}',
    ['/a post node b.js of a.js,b.js'],
  ],
  [
    'a one-item list with an entry',
    '/a: {post: {artifact: [a.js], entry: index.js, engine: node}}',
    ['/a post node a.js'],
  ],
  [
    'a list in block form',
    '/a:\n  post:\n    engine: node\n    artifact:\n    - a.js\n    - b.js',
    ['/a post node a.js,b.js'],
  ],
  ['JSON', `{"/a": {"post": {"artifact": "a.js", "engine": "node"}}}`, ['/a post node a.js']],
  ['a byte order mark', `\uFEFF/a: {post: {${body}}}`, ['/a post node a.js']],
  ['CRLF', `/a:\r\n  post:\r\n    artifact: a.js\r\n    engine: node\r\n`, ['/a post node a.js']],
  ['tabs behind values', `/a:\t\n  post:\t\n    artifact:\ta.js\t\n    engine: node\n\t\n`, ['/a post node a.js']],
  ['a duplicate endpoint', `/a: {post: {artifact: old, engine: node}}\n/a: {post: {${body}}}`, ['/a post node a.js']],
  ['a duplicate field', '/a: {post: {artifact: old, engine: node, artifact: a.js}}', ['/a post node a.js']],
  ['an alias', `/a: &x {post: {${body}}}\n/b: *x`, ['/a post node a.js', '/b post node a.js']],
  ['a merge key', `base: &x {${body}}\n/a: {post: {<<: *x, artifact: b.js}}`, ['/a post node b.js']],
  [
    'merged lists, the first wins',
    `x: &x {engine: node}\ny: &y {engine: python, artifact: a.py}\n/a: {post: {<<: [*x, *y]}}`,
    ['/a post node a.py'],
  ],
  ['a merge key of itself', `/a: &x {post: {${body}}, <<: *x}`, ['/a post node a.js']],
  [
    'an anchor that is set twice',
    `x: &e node\ny: &e python\n/a: {post: {artifact: a, engine: *e}}`,
    ['/a post python a'],
  ],
  ['document markers and comments', `%YAML 1.1\n---\n# c\n/a: {post: {${body}}} # d\n...\n`, ['/a post node a.js']],
  ['later documents', `/a: {post: {${body}}}\n---\n: {`, ['/a post node a.js']],
  ['an unknown tag', `/a: !endpoint {post: {artifact: !file a.js, engine: !!str node}}`, ['/a post node a.js']],
  ['words that YAML 1.1 took for booleans', '/on: {post: {artifact: no, engine: yes}}', ['/on post yes no']],
  ['numbers as names', '/1.10: {post: {artifact: 1.0, engine: 007}}', ['/1.10 post 007 1.0']],
  ['a folded text', '/a:\n  post:\n    artifact: >-\n      a.js\n    engine: "no\\x64e"', ['/a post node a.js']],
  [
    'a flow map that ends at the margin',
    '/a: {\n  post: {\n    artifact: a.js, engine: node\n  }\n}',
    ['/a post node a.js'],
  ],
  ['other keys', `version: 1\nname: {x: y}\nx-post: {a: b}\n/a: {summary: s, post: {${body}}}`, ['/a post node a.js']],
  ['no endpoint', '{}', []],
];

for (const [what, text, expected] of accepted) {
  test(`accepted: ${what}`, () => {
    const found = entries(text);
    assert.deepEqual(
      found.flatMap((entry) => entry.problems),
      [],
    );
    const shape = (e: DeploymentEntry): string =>
      `${e.path} ${e.method} ${e.engine} ${e.entry === e.artifacts[0] ? '' : `${e.entry} of `}${e.artifacts.join()}`;
    assert.deepEqual(found.map(shape), expected);
  });
}

/** Each leaves the endpoint `/good` in order. */
const problems: [string, string, RegExp][] = [
  ['no engine', '/a: {post: {artifact: a.js}}', /^deployment\.yaml line 1: \/a names no engine: add/],
  ['an empty engine', '/a: {post: {artifact: a.js, engine: }}', /names no engine/],
  ['an engine of another type', '/a: {post: {artifact: a.js, engine: [node]}}', /names no engine/],
  ['no artifact', '/a: {post: {engine: node}}', /names no artifact: add/],
  ['an empty list of artifacts', '/a: {post: {engine: node, artifact: []}}', /names no artifact/],
  ['an artifact that is null', '/a: {post: {engine: node, artifact: ~}}', /artifact that is not the path/],
  [
    'an artifact of another type',
    '/a: {post: {engine: node, artifact: [a.js, {b: c}]}}',
    /artifact that is not the path/,
  ],
  [
    'an entry that is no artifact',
    '/a: {post: {engine: node, artifact: [a, b], entry: c}}',
    /entry c, which is not one/,
  ],
  [
    'a function of another type',
    '/a: {post: {engine: node, artifact: a, function: {x: y}}}',
    /function that is not plain text/,
  ],
  [
    'a timeout of another unit',
    '/a: {post: {engine: node, artifact: a, timeout: 5 days}}',
    /timeout 5 days: it must be a whole number with a unit/,
  ],
  ['a timeout of nothing', '/a: {post: {engine: node, artifact: a, timeout: 0}}', /timeout 0: it must be/],
  ['another method', '/a: {put: {engine: node, artifact: a}}', /method put: use post for code and get/],
  ['no method', '/a: {engine: node, artifact: a}', /\/a has no method: put post:/],
  ['an endpoint that is null', '/a:', /has no method/],
  ['an endpoint that is text', '/a: post', /has no method/],
  ['a method that is null', '/a: {post: }', /names no engine/],
  ['a path with a space', '"/a b": {post: {engine: node, artifact: a}}', /\/a b is no endpoint path/],
  ['a path with a parameter', '"/a/{id}": {post: {engine: node, artifact: a}}', /is no endpoint path/],
  ['a path that climbs', '/../a: {post: {engine: node, artifact: a}}', /is no endpoint path/],
  ['an empty path', '/: {post: {engine: node, artifact: a}}', /is no endpoint path/],
  [
    'a path with a line break',
    '"/a\\nb": {post: {engine: node, artifact: a}}',
    /line 1: \/a\\u000ab is no endpoint path/,
  ],
  ['a problem in the older shape', 'endpoints: {/a: {engine: node}}', /names no artifact/],
  ['a second line', '\n\n/a:\n  # c\n  post:\n    engine: node', /^deployment\.yaml line 5: /],
];

for (const [what, text, reason] of problems) {
  test(`a problem of one endpoint: ${what}`, () => {
    const found = entries(`${text}\n/good: {post: {artifact: a.js, engine: node}}\n`);
    assert.deepEqual(
      found.map((entry) => entry.path === '/good' && entry.problems.length === 0),
      [false, true],
    );
    assert.match(found[0]?.problems[0] ?? '', reason);
  });
}

const bomb = (levels: number): string =>
  `a0: &a0 [x]\n${Array.from({ length: levels }, (_, i) => `a${String(i + 1)}: &a${String(i + 1)} [${`*a${String(i)},`.repeat(9)}]\n`).join('')}`;
const merges = (levels: number): string =>
  `a0: &a0 {x: y}\n${Array.from({ length: levels }, (_, i) => `a${String(i + 1)}: &a${String(i + 1)} {<<: [*a${String(i)}, *a${String(i)}]}\n`).join('')}`;

const refused: [string, string, RegExp][] = [
  ['an empty file', '', /^deployment\.yaml must hold a map .* it is empty$/],
  ['only a comment', '# nothing', /it is empty/],
  ['a list', '- a', /it holds a list/],
  ['text', 'just text', /it holds text/],
  ['an unclosed bracket', '/a:\n  post: {engine: node', /^deployment\.yaml is not valid YAML: line 2: /],
  ['a tab as indentation', '/a:\n\tpost: x', /line 2: .*[Tt]ab/],
  ['wrong indentation', '/a:\n  post:\n    engine: node\n   artifact: x', /line 4: /],
  ['an alias of nothing', '/a: *nothing', /line 1: \*nothing refers to nothing/],
  ['an alias of itself', '/a: {post: &x {more: [*x]}}', /an alias \(\*\) refers to what it stands in/],
  ['a binary file', Buffer.from(Array.from({ length: 256 }, (_, i) => i)).toString('latin1'), /deployment\.yaml/],
  ['deep nesting', '['.repeat(100_000), /deployment\.yaml is not valid YAML/],
  ['deep nesting that ends', `/a: ${'['.repeat(50_000)}${']'.repeat(50_000)}`, /not valid YAML/],
  ['an endless number of errors', `[${','.repeat(500_000)}]`, /not valid YAML: line 1/],
  ['an endless number of lines', '\n'.repeat(1_000_000), /has more than 600000 lines/],
  ['merge keys that explode', `${merges(40)}/a: {post: *a40}`, /merge keys \(<<\) too often/],
  ['lists that explode', `${bomb(9)}/a: {post: {engine: node, artifact: a, more: *a9}}`, /too often/],
  ['texts that explode', `x: &x ${'x'.repeat(500_000)}\n/a: {post: {more: [*x, *x, *x]}}`, /too often/],
];

for (const [what, text, reason] of refused) {
  test(`refused: ${what}`, () => {
    const start = process.cpuUsage();
    assert.throws(
      () => parseDeployment(text, 'deployment.yaml'),
      (thrown) => thrown instanceof ServiceError && thrown.status === 400 && reason.test(thrown.message),
    );
    assert.ok(process.cpuUsage(start).user < 2_000_000, 'in time');
  });
}

test('the hosts that code connects to are one or a list, port 443 where none is said', () => {
  const network = (text: string): unknown =>
    only(`/a: {post: {engine: node, artifact: a.js, network: ${text}}}`).network;
  assert.deepEqual(network('API.example.'), [{ host: 'api.example', port: 443 }]);
  assert.deepEqual(network('[a.example:80, "[::1]:5432"]'), [
    { host: 'a.example', port: 80 },
    { host: '::1', port: 5432 },
  ]);
  assert.deepEqual(only('/a: {post: {engine: {name: node, network: a.example:1}, artifact: a.js}}').network, [
    { host: 'a.example', port: 1 },
  ]);
});

test('what is no host is left out, since a runtime of others may mean something else', () => {
  for (const text of ['true', '{a: 1}', '[]', 'https://a.example/', '"*"', '10.0.0.0/8', '[[a]]', '""', 'null']) {
    const { network, problems, raw } = only(`/a: {post: {engine: node, artifact: a.js, network: ${text}}}`);
    assert.deepEqual([network, problems], [undefined, []], text);
    assert.ok('network' in raw, text);
  }
});

test('a big map that many endpoints share is refused in time', () => {
  const keys = Array.from({ length: 10_000 }, (_, i) => `k${String(i)}: x`).join(', ');
  const paths = Array.from({ length: 10_000 }, (_, i) => `/p${String(i)}: {post: {<<: *big}}`).join('\n');
  assert.throws(() => parseDeployment(`big: &big {${keys}}\n${paths}`, 'deployment.yaml'), /too often/);
});
