import assert from 'node:assert/strict';
import { test } from 'node:test';
import { javascriptKo } from '../../test/acceptance/support/ko.ts';
import { ManualEngine, endpointsOf } from '../../test/support/in-memory.ts';
import { ServiceError } from '../lib/errors.ts';
import { Negotiation } from './negotiation.ts';

async function negotiationOf(consumes: readonly string[], produces: readonly string[] = ['application/json']) {
  const [endpoint] = await endpointsOf(
    javascriptKo('', { naan: 'a', name: 'b', consumes, produces }),
    new ManualEngine(),
  );
  assert.ok(endpoint !== undefined);
  return new Negotiation(endpoint);
}

/** The status and the message of the error. */
function refusalOf(work: () => unknown): [number, string] {
  try {
    work();
  } catch (thrown) {
    assert.ok(thrown instanceof ServiceError, String(thrown));
    return [thrown.status, thrown.message];
  }
  return assert.fail('it was accepted');
}

test('a declared type is read, whatever its case and parameters, and JSON is known as such', async () => {
  const negotiation = await negotiationOf(['application/json', 'text/csv; charset=utf-8', 'application/fhir+json']);
  const types: [contentType: string, json: boolean][] = [
    ['application/json', true],
    ['APPLICATION/JSON; charset=utf-8', true],
    [' application/json ;x=y', true],
    ['application/fhir+json', true],
    ['text/csv', false],
    ['Text/CSV;header=absent', false],
  ];
  // Twice, since decisions are kept.
  for (const [contentType, json] of [...types, ...types]) {
    assert.equal(negotiation.readsJson(contentType), json, contentType);
  }
});

test('a type that is not declared is 415 with those that are', async () => {
  const negotiation = await negotiationOf(['application/json', 'text/csv']);
  const supported = 'Supported Content Types: [application/json, text/csv]';
  for (const [contentType, named] of [
    ['text/plain; charset=utf-8', 'text/plain'],
    ['application/jsonx', 'application/jsonx'],
    ['json', 'json'],
    [undefined, '(none given)'],
    ['', '(none given)'],
    [';charset=utf-8', '(none given)'],
  ] as const) {
    const [status, message] = refusalOf(() => negotiation.readsJson(contentType));
    assert.equal(status, 415);
    assert.equal(message, `Endpoint a/b/1.0/run does not support media type ${named}. ${supported}`);
  }
});

test('declared wildcards match types, and nothing that is none', async () => {
  const text = await negotiationOf(['text/*']);
  assert.equal(text.readsJson('text/csv'), false);
  assert.equal(text.readsJson('text/json'), true);
  for (const type of ['texts/csv', 'text', 'text/', 'text/a b', 'application/json']) {
    assert.equal(refusalOf(() => text.readsJson(type))[0], 415, type);
  }
  const any = await negotiationOf(['*/*']);
  assert.equal(any.readsJson('image/png'), false);
  assert.equal(refusalOf(() => any.readsJson(undefined))[0], 415);
});

test('without a declared body it is application/json', async () => {
  const [endpoint] = await endpointsOf(javascriptKo('', { naan: 'a', name: 'b', consumes: [] }), new ManualEngine());
  assert.ok(endpoint !== undefined);
  assert.equal(new Negotiation(endpoint).readsJson('application/json'), true);
});

test('the answer is wrapped JSON unless another declared type or the profile is preferred', async () => {
  const negotiation = await negotiationOf(['application/json'], ['text/html', 'application/fhir+json', 'text/*']);
  const wrapped = { kind: 'wrapped' };
  const fhir = { kind: 'json', type: 'application/fhir+json' };
  const html = { kind: 'text', type: 'text/html' };
  const forms: [accept: string | undefined, form: object][] = [
    [undefined, wrapped],
    ['', wrapped],
    ['*/*', wrapped],
    ['application/json', wrapped],
    ['application/json; charset=utf-8', wrapped],
    ['application/*', wrapped],
    ['application/fhir+json', fhir],
    ['application/FHIR+JSON; fhirVersion=4.0', fhir],
    ['application/fhir+json;profile="minimal"', fhir],
    ['application/fhir+json; profile="http://example.org/a,b;c=d"; charset=utf-8', fhir],
    ['application/fhir+json, application/json;q=0.9, */*;q=0.1', fhir],
    ['application/fhir+json;q=0.5, application/json', wrapped],
    ['application/fhir+json;q=0.5, */*', wrapped],
    ['text/json', { kind: 'json', type: 'text/json' }],
    ['application/*;profile=minimal', { kind: 'minimal' }],
    ['text/html', html],
    ['Text/HTML; charset=utf-8', html],
    ['text/html;q=0.9, application/json;q=0.8', html],
    ['text/html;q=0.5, application/json', wrapped],
    ['text/html, image/gif, image/jpeg, */*; q=0.2', html],
    ['image/png, */*;q=0.1', wrapped],
    ['application/json;profile="minimal"', { kind: 'minimal' }],
    ['application/json; profile=minimal', { kind: 'minimal' }],
    ['application/json;profile=other', wrapped],
  ];
  for (const [accept, form] of [...forms, ...forms]) assert.deepEqual(negotiation.answerForm(accept), form, accept);
});

test('an Accept that neither JSON nor a declared type meets is 406 with what there is', async () => {
  const negotiation = await negotiationOf(['application/json'], ['text/html']);
  for (const accept of ['image/png', 'text/plain', 'application/json;q=0', 'nonsense', 'application/xml, image/*']) {
    const [status, message] = refusalOf(() => negotiation.answerForm(accept));
    assert.equal(status, 406);
    assert.equal(
      message,
      `Endpoint a/b/1.0/run cannot answer with ${accept}. It answers with: [application/json, text/html]`,
    );
  }
});

test('any number of different headers is answered', async () => {
  const negotiation = await negotiationOf(['application/json'], ['text/html']);
  for (let i = 0; i < 200; i++) {
    assert.equal(negotiation.readsJson(`application/json; n=${i}`), true);
    assert.deepEqual(negotiation.answerForm(`text/html;q=0.${i % 9}1, text/x${i}`), {
      kind: 'text',
      type: 'text/html',
    });
  }
});

test('a declared type of JSON is answered as it is declared, with its parameters', async () => {
  const negotiation = await negotiationOf(['application/json'], ['Application/fhir+json; fhirVersion=4.0', '*/*']);
  const type = 'Application/fhir+json; fhirVersion=4.0';
  assert.deepEqual(negotiation.answerForm('application/fhir+json'), { kind: 'json', type });
  assert.deepEqual(negotiation.answerForm('application/ld+json'), { kind: 'json', type: 'application/ld+json' });
  // A browser takes the last of a list: it would show the JSON as a page of this address.
  for (const listed of ['application/x+json; a=b, text/html', 'text/html,application/x+json', 'application/x+json']) {
    const form = (await negotiationOf(['application/json'], [listed])).answerForm('application/x+json, */*;q=0.1');
    assert.ok(form.kind === 'wrapped' || (form.kind === 'json' && form.type === 'application/x+json'), listed);
  }
});
