import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import type { Endpoint } from '../../activation/endpoint.ts';
import { HeldBytes } from '../../execution/held-bytes.ts';
import { EndpointAnswers } from './endpoint-answers.ts';
import type { Answer } from './endpoint-answers.ts';

const WRAPPED = { kind: 'wrapped' } as const;
const MINIMAL = { kind: 'minimal' } as const;
const TEXT = { kind: 'text', type: 'text/plain' } as const;

const answersOf = (metadata: string, id = 'a/b/1/run'): EndpointAnswers =>
  new EndpointAnswers({ id, ko: { metadata, entry: { digest: 'd' }, signers: [] } } as unknown as Endpoint);

/** What a client gets of it, byte for byte. */
async function sent(answers: EndpointAnswers, answer: Partial<Answer>): Promise<{ body: Buffer; headers: Headers }> {
  const whole = { form: WRAPPED, result: '1', inputs: '', headers: [], withoutBody: false, ...answer };
  await using server = createServer((_request, response) => answers.write(response, new HeldBytes(1e9), whole));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  return { body: Buffer.from(await response.arrayBuffer()), headers: response.headers };
}

/** Of one byte, two, three and four, also where V8 keeps a character in a byte and UTF-8 does not. */
const texts = ['plain', 'caf\u00e9', '\u00ff', '\u20ac', '\u{1f600}', ''];

test('every character arrives, wherever it stands, with the length that is announced', async () => {
  for (const text of texts) {
    for (const where of ['result', 'inputs', 'metadata']) {
      const ko = { title: where === 'metadata' ? text : 'x' };
      const result = where === 'result' ? { text } : 1;
      const inputs = where === 'inputs' ? JSON.stringify({ text }) : '{}';
      const answers = answersOf(JSON.stringify(ko));
      const { body, headers } = await sent(answers, { result: JSON.stringify(result), inputs });
      assert.equal(headers.get('content-length'), String(body.length));
      assert.deepEqual(JSON.parse(body.toString('utf8')), { result, info: { ko, inputs } });
    }
  }
});

test('so it does in an answer that is the result alone, and in one that is a text', async () => {
  const answers = answersOf('{}');
  for (const text of texts) {
    const result = JSON.stringify(text);
    for (const [form, expected] of [
      [MINIMAL, result],
      [TEXT, text],
    ] as const) {
      const { body, headers } = await sent(answers, { form, result });
      assert.equal(body.toString('utf8'), expected);
      assert.equal(headers.get('content-length'), String(body.length));
    }
  }
});

test('half of a pair of characters is replaced, as UTF-8 demands', async () => {
  const { body } = await sent(answersOf('{}'), { form: TEXT, result: '"\\ud800"' });
  assert.equal(body.toString('utf8'), '\ufffd');
});
