import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { TestActivator } from './activator.ts';
import { secret, TestRuntime, type Reply } from './runtime.ts';

const uri = 'nested/ko/1.0/run';
const code = `
const call = (uri, ...input) => cxt.getExecutorByID(uri).execute(...input);
module.exports = async (input) => ({
  call: () => call(input.uri, ...input.args),
  several: () => Promise.all(input.args.map((arg) => call('a/b/1.0/c', arg))),
})[input.do]();
`;

describe('calls of one knowledge object by another', () => {
  let activator: TestActivator;
  let runtime: TestRuntime;
  const run = (input: object, headers = {}): Promise<Reply> => runtime.post(uri, input, headers);
  before(async () => {
    activator = await TestActivator.start();
    runtime = await TestRuntime.start(activator, {
      KGRID_NODE_CONCURRENCY: '2',
      KGRID_PROXY_ADAPTER_URL: activator.url.replace('//', '//user:pass@'),
    });
    await runtime.activate({ uri, ko: 'nested/ko/v1', files: { 'src/index.js': code } });
  });
  after(async () => {
    await runtime[Symbol.asyncDispose]();
    await activator[Symbol.asyncDispose]();
  });

  it('go to the activator with the depth and the time that is left, and give its result', async () => {
    activator.onCall = ({ body }) =>
      Promise.resolve({ status: 200, body: { result: JSON.parse(body) as unknown, info: {} } });
    const headers = { 'x-kgrid-depth': '3', 'x-kgrid-deadline-ms': '10000' };
    const { body } = await run({ do: 'call', uri: 'a/b/1.0/c', args: [{ x: 1 }] }, headers);
    assert.deepEqual(body, { result: { x: 1 } });
    const seen = activator.requests.at(-1) ?? assert.fail();
    assert.equal(seen.path, 'a/b/1.0/c');
    assert.equal(seen.headers['content-type'], 'application/json');
    assert.equal(seen.headers['x-kgrid-depth'], '3');
    const left = Number(seen.headers['x-kgrid-deadline-ms']);
    assert.ok(left > 5_000 && left <= 9_500, `${left} ms left`);
    assert.equal(seen.headers.authorization, `Basic ${Buffer.from('user:pass').toString('base64')}`);
    assert.equal(seen.headers['x-kgrid-runtime-secret'], secret);
  });

  it('bring back the token that came with their call, also where many came in one request', async () => {
    const tokens: unknown[] = [];
    activator.onCall = ({ headers }) => {
      tokens.push(headers['x-kgrid-call-token']);
      return Promise.resolve({ status: 200, body: { result: 1 } });
    };
    const input = { do: 'call', uri: 'a/b/1.0/c', args: [1] };
    await Promise.all(['v1.one.1', 'v1.two.2'].map((token) => run(input, { 'x-kgrid-call-token': token })));
    assert.deepEqual(tokens.splice(0).sort(), ['v1.one.1', 'v1.two.2']);
    await fetch(`${runtime.url}/${uri}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/vnd.kgrid.calls',
        'x-kgrid-runtime-secret': secret,
        'x-kgrid-call-token': 'v1.many.3',
      },
      body: [input, input].map((each) => JSON.stringify(each)).join('\0'),
    }).then((response) => response.text());
    assert.deepEqual(tokens.splice(0), ['v1.many.3', 'v1.many.3']);
    for (const headers of [{}, { 'x-kgrid-call-token': 'x'.repeat(1025) }, { 'x-kgrid-call-token': 'a b' }])
      await run(input, headers);
    assert.deepEqual(tokens, [undefined, undefined, undefined]);
  });

  it('send inputs as JSON, and texts as what the content type says', async () => {
    activator.onCall = ({ body, headers }) =>
      Promise.resolve({ status: 200, body: { result: [body, headers['content-type']] } });
    for (const [args, expected] of [
      [['{"a": 1}'], ['{"a": 1}', 'application/json']],
      [['plain'], ['"plain"', 'application/json']],
      [[], ['null', 'application/json']],
      [
        ['plain', 'text/plain'],
        ['plain', 'text/plain'],
      ],
    ]) {
      assert.deepEqual((await run({ do: 'call', uri: '/a/b/1.0/c', args })).body['result'], expected);
    }
  });

  it('reach endpoints only', async () => {
    activator.requests.length = 0;
    for (const target of [
      'kos/a/b',
      '../kos/a/b',
      'proxy/environments/x',
      'http://127.0.0.1:1/a/b',
      'a/b',
      'a/b/c?x',
      'a/b/%2e%2e',
    ]) {
      const { body } = await run({ do: 'call', uri: target, args: [1] });
      assert.equal(body['description'], `Error: Not an endpoint: ${target}`);
    }
    assert.deepEqual(
      activator.requests.filter(({ path }) => path !== 'proxy/environments'),
      [],
    );
  });

  it('are made only while a call is being answered', async () => {
    const files = {
      'src/index.js': `
        const call = (name) => cxt.getExecutorByID('a/b/1.0/' + name).execute(1).catch((error) => console.log(name, error.message));
        setInterval(() => call('background'), 50);
        module.exports = () => void setTimeout(() => call('late'), 50);`,
    };
    await runtime.activate({ uri: 'nested/late/1.0/run', ko: 'nested/late/v1', files });
    await runtime.post('nested/late/1.0/run', 1);
    for (const name of ['background', 'late']) {
      const { text } = await runtime.line((line) => String(line['text']).startsWith(name));
      assert.equal(text, `${name} Another endpoint can be called only while a call is being answered`);
    }
    assert.ok(!activator.requests.some(({ path }) => /^a\/b\/1.0\/(background|late)/.test(path)));
  });
});
