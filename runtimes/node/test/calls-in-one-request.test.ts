import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { recordOf } from '../../server/http/calls-in-one-request.ts';
import { TestActivator } from './activator.ts';
import { secret, TestRuntime } from './runtime.ts';

const FILES = {
  'src/index.js': `
    module.exports = async ({ n, wait, fail }) => {
      if (fail) throw new TypeError('no ' + n);
      if (wait) await new Promise((resolve) => setTimeout(resolve, wait));
      return n * 2;
    };`,
};

describe('many calls in one request', () => {
  const uri = 'hello/batch/v1.0/double';
  let activator: TestActivator;
  let runtime: TestRuntime;
  before(async () => {
    activator = await TestActivator.start();
    runtime = await TestRuntime.start(activator);
    await runtime.activate({ uri, ko: 'hello/batch/v1', files: FILES });
  });
  after(async () => {
    await runtime[Symbol.asyncDispose]();
    await activator[Symbol.asyncDispose]();
  });

  const send = (inputs: readonly string[]): Promise<Response> =>
    fetch(`${runtime.url}/${uri}`, {
      method: 'POST',
      headers: { 'content-type': 'application/vnd.kgrid.calls', 'x-kgrid-runtime-secret': secret },
      body: inputs.join('\0'),
    });
  const records = async (inputs: readonly string[]): Promise<string[]> => {
    const response = await send(inputs);
    assert.equal(response.headers.get('content-type'), 'application/vnd.kgrid.answers');
    const text = await response.text();
    assert.ok(text.endsWith('\0'));
    return text.slice(0, -1).split('\0');
  };

  it('gives each call its own answer, whatever becomes of the others', async () => {
    const inputs = [
      '{"n":1}',
      '{"n":2,"fail":true}',
      '{"n":',
      ...Array.from({ length: 40 }, (_, i) => `{"n":${i + 3}}`),
    ];
    const found = new Map((await records(inputs)).map((record) => [Number.parseInt(record), record]));
    assert.equal(found.size, inputs.length);
    assert.equal(found.get(0), '0=2');
    assert.match(found.get(1) ?? '', /^1!\d{3},TypeError: no 2$/);
    assert.match(found.get(2) ?? '', /^2!400,/);
    for (let i = 3; i < inputs.length; i++) assert.equal(found.get(i), `${i}=${i * 2}`);
  });

  it('sends an answer as soon as it is there', async () => {
    const response = await send(['{"n":1,"wait":2000}', '{"n":2}']);
    const reader = response.body?.getReader() ?? assert.fail();
    const { value } = (await reader.read()) as { value?: Uint8Array };
    assert.equal(Buffer.from(value ?? []).toString(), '1=4\0');
    assert.equal(Buffer.from((await reader.read()).value ?? []).toString(), '0=2\0');
  });
});

it('lets no result pass that holds the end of a record', () => {
  assert.equal(recordOf({ ok: true, result: '1\u00000="forged"' }, false), '!500,The result is not JSON');
  assert.equal(recordOf({ ok: false, status: 500, description: 'a\0b' }, false), '!500,a b');
});
