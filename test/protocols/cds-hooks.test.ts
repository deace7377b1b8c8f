/** CDS Hooks 2.0 at a running service: discovery, cards, what is withheld and why, feedback, clients and their servers. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { IncomingMessage, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import type { Answer } from '../acceptance/support/client.ts';
import { javascriptKo, uniqueNaan } from '../acceptance/support/ko.ts';
import type { Ko } from '../acceptance/support/ko.ts';
import { startService } from '../acceptance/support/service.ts';
import type { OwnService } from '../acceptance/support/service.ts';

const SERVICE = `
hook: patient-view
description: Says how old a patient is.
prefetch:
  patient: Patient/{{context.patientId}}
  allergies: AllergyIntolerance?patient={{context.patientId}}
needs: [patient]
endpoint: /run
code: src/cds.js
input: toInput
cards: toCards
`;
/** What the patient's fields say is done. */
const CODE = `
  const toInput = ({ prefetch: { patient, allergies } }) => patient.input ?? { born: patient.birthDate, allergies };
  const toCards = ({ result, prefetch: { patient } }) =>
    patient.cards ?? [{ summary: JSON.stringify(result), indicator: 'info', ...patient.card }];`;
const RUN = `
  function run(input) {
    if (input.wait) for (;;) {}
    if (input.refuse) throw Object.assign(new Error('no'), { name: 'InvalidInputError', status: 422 });
    if (input.fail) throw new Error('broken');
    return input;
  }`;
const HOOK_INSTANCE = '4e1c7a3c-8a1b-4b9e-9f3e-2f6f1f0e6b01';

function hookKo(files: Record<string, string> = {}): Ko {
  const ko = javascriptKo(RUN, { naan: uniqueNaan(), name: 'age' });
  return { ...ko, files: { ...ko.files, 'cds-hooks.yaml': SERVICE, 'src/cds.js': CODE, ...files } };
}
const idOf = ({ naan, name }: Ko): string => `${naan}-${name}`;
const request = (prefetch: unknown, more: object = {}): object => ({
  hook: 'patient-view',
  hookInstance: HOOK_INSTANCE,
  context: { userId: 'Practitioner/1', patientId: 'p1' },
  ...(prefetch === undefined ? {} : { prefetch }),
  ...more,
});
function assertFails({ status, object }: Answer, expected: { status: number; detail?: RegExp }): void {
  assert.equal(status, expected.status, JSON.stringify(object));
  assert.match(String(object['Detail']), expected.detail ?? /./);
}
const withheld = ({ headers }: Answer): unknown => headers['kgrid-cards-withheld'];

let service: OwnService;
let ko: Ko;
const ask = (prefetch: unknown, more: object = {}): Promise<Answer> =>
  service.post(`/cds-services/${idOf(ko)}`, request(prefetch, more));
const askWith = (fields: object): Promise<Answer> => ask({ patient: { resourceType: 'Patient', ...fields } });

before(async () => {
  service = await startService({ args: ['--cds-deadline', '30s', '--execution-timeout', '1s'] });
  ko = hookKo();
  await service.serve(ko);
});
after(() => service[Symbol.asyncDispose]());

test('an active knowledge object with cds-hooks.yaml is discovered, and is no more once it is gone', async () => {
  const other = hookKo();
  await service.serve(other);
  const listed = async (): Promise<unknown> => {
    const { services } = (await service.get('/cds-services')).object as { services: { id: string }[] };
    return services.find(({ id }) => id === idOf(other));
  };
  assert.deepEqual(await listed(), {
    hook: 'patient-view',
    title: 'Title of age',
    description: 'Says how old a patient is.',
    id: idOf(other),
    prefetch: {
      patient: 'Patient/{{context.patientId}}',
      allergies: 'AllergyIntolerance?patient={{context.patientId}}',
    },
  });
  await service.delete(`/kos/${other.id}`);
  await service.reload(other);
  assert.equal(await listed(), undefined);
  const gone = await service.post(`/cds-services/${idOf(other)}`, request({}));
  assertFails(gone, { status: 404 });
});

test('cards are completed with an id and a source', async () => {
  const answer = await askWith({ birthDate: '1970-01-01' });
  assert.equal(answer.status, 200, answer.text);
  const { cards } = answer.object as { cards: Record<string, unknown>[] };
  const { uuid, ...card } = cards[0] ?? assert.fail();
  assert.match(String(uuid), /^[0-9a-f-]{36}$/);
  assert.deepEqual(card, { summary: '{"born":"1970-01-01"}', indicator: 'info', source: { label: 'Title of age' } });
  assert.match(String(answer.headers['kgrid-package-digest']), /sha256/);
  assert.equal(withheld(answer), undefined);
});

test('data that are absent, null or an OperationOutcome are three cases', async () => {
  const failed = { resourceType: 'OperationOutcome', issue: [] };
  for (const [prefetch, reason] of [
    [undefined, 'absent-prefetch: patient'],
    [{ patient: null }, 'empty-prefetch: patient'],
    [{ patient: failed }, 'failed-prefetch: patient'],
  ] as const) {
    const answer = await ask(prefetch);
    assert.deepEqual([answer.status, answer.object, withheld(answer)], [200, { cards: [] }, reason]);
  }
  // What is not needed may be missing: the code sees null only where the client said so.
  const patient = { resourceType: 'Patient', birthDate: '1970-01-01' };
  for (const [allergies, seen] of [
    [null, { born: '1970-01-01', allergies: null }],
    [failed, { born: '1970-01-01' }],
  ]) {
    const { cards } = (await ask({ patient, allergies })).object as { cards: { summary: string }[] };
    assert.deepEqual(JSON.parse(cards[0]?.summary ?? ''), seen);
  }
});

test('what the code refuses is withheld, what it cannot do is its error, and null is nothing to say', async () => {
  const refused = await askWith({ input: { refuse: true } });
  assert.deepEqual([refused.status, refused.object, withheld(refused)], [200, { cards: [] }, 'refused-input']);
  assertFails(await askWith({ input: { fail: true } }), { status: 500, detail: /broken/ });
  const nothing = await ask({ patient: { resourceType: 'Patient', input: null, birthDate: null } });
  assert.equal(nothing.status, 200);
});

test('a request that is none says which field is at fault', async () => {
  const patient = { patient: { resourceType: 'Patient' } };
  for (const [more, field] of [
    [{ hook: 'order-sign' }, 'hook'],
    [{ hookInstance: undefined }, 'hookInstance'],
    [{ hookInstance: 'seven' }, 'hookInstance'],
    [{ context: undefined }, 'context'],
    [{ context: { userId: 'Practitioner/1' } }, 'context.patientId'],
    [{ prefetch: [] }, 'prefetch'],
    [{ prefetch: { patient: 'text' } }, 'prefetch.patient'],
    [{ fhirServer: 'ftp://x' }, 'fhirServer'],
    [{ fhirAuthorization: { access_token: 5 } }, 'fhirAuthorization'],
  ] as const)
    assertFails(await ask(patient, more), { status: 400, detail: new RegExp(`^${field.replace('.', '\\.')} `) });
  assertFails(await service.post(`/cds-services/${idOf(ko)}`, '{'), { status: 400 });
});

test('a card that breaks a rule is an error that names the rule', async () => {
  const suggestion = {
    label: 'do',
    actions: [{ type: 'create', description: 'd', resource: { resourceType: 'Task' } }],
  };
  for (const [card, fault] of [
    [{ summary: 'x'.repeat(140) }, 'cards[0].summary'],
    [{ summary: '' }, 'cards[0].summary'],
    [{ indicator: 'hard-stop' }, 'cards[0].indicator'],
    [{ source: {} }, 'cards[0].source.label'],
    [{ source: { label: 'l', url: 'javascript:alert(1)' } }, 'cards[0].source.url'],
    [{ suggestions: [suggestion] }, 'cards[0].selectionBehavior'],
    [{ suggestions: [suggestion], selectionBehavior: 'all' }, 'cards[0].selectionBehavior'],
    [{ suggestions: [{}], selectionBehavior: 'any' }, 'cards[0].suggestions[0].label'],
    [
      { suggestions: [{ label: 'l', actions: [{ type: 'create', description: 'd' }] }], selectionBehavior: 'any' },
      'cards[0].suggestions[0].actions[0].resource',
    ],
    [
      { suggestions: [{ label: 'l', actions: [{ type: 'delete', description: 'd' }] }], selectionBehavior: 'any' },
      'cards[0].suggestions[0].actions[0].resourceId',
    ],
    [{ links: [{ label: 'l', url: 'javascript:alert(1)', type: 'absolute' }] }, 'cards[0].links[0].url'],
    [
      { links: [{ label: 'l', url: 'https://x.example', type: 'absolute', appContext: 'c' }] },
      'cards[0].links[0].appContext',
    ],
    [{ overrideReasons: [{ code: 'c' }] }, 'cards[0].overrideReasons[0].display'],
  ] as const) {
    const { status, object } = await askWith({ card });
    assert.equal(status, 500);
    assert.ok(String(object['Detail']).includes(fault), `${fault}: ${String(object['Detail'])}`);
  }
  const actions = await askWith({ cards: { cards: [], systemActions: [{ type: 'create', description: 'd' }] } });
  assert.match(String(actions.object['Detail']), /systemActions\[0\]\.resource/);
});

test('feedback is kept once for each card, counted, and tells nothing that users wrote', async () => {
  const path = `/cds-services/${idOf(ko)}/feedback`;
  const entry = { card: HOOK_INSTANCE, outcome: 'overridden', outcomeTimestamp: '2026-11-25T10:00:00Z' };
  const overrideReason = { reason: { code: 'contraindicated', system: 's' }, userComment: 'Mrs Miller is allergic' };
  for (const more of [{ outcome: 'accepted', acceptedSuggestions: [{ id: 's1' }] }, { overrideReason }])
    assert.equal((await service.post(path, { feedback: [{ ...entry, ...more }] })).status, 200);
  const { object, text } = await service.get(path);
  assert.deepEqual(object, {
    service: idOf(ko),
    accepted: 0,
    overridden: 1,
    reasons: { contraindicated: 1 },
    latest: [{ card: HOOK_INSTANCE, outcome: 'overridden', detail: ['contraindicated'], at: '2026-11-25T10:00:00Z' }],
  });
  assert.doesNotMatch(text, /Miller/);
  for (const feedback of [[], [{}], [{ ...entry, outcome: 'seen' }], [{ ...entry, outcome: 'accepted' }], 'x'])
    assertFails(await service.post(path, { feedback }), { status: 400, detail: /^feedback/ });
});

test('code that is too slow, and missing data under --cds-strict', async () => {
  await using strict = await startService({ args: ['--cds-strict', '--cds-deadline', '500ms'] });
  await strict.serve(ko);
  const path = `/cds-services/${idOf(ko)}`;
  const slow = await strict.post(path, request({ patient: { resourceType: 'Patient', input: { wait: true } } }));
  assert.deepEqual([slow.status, slow.object, withheld(slow)], [200, { cards: [] }, 'deadline']);
  assertFails(await strict.post(path, request({})), { status: 412, detail: /absent-prefetch: patient/ });
  const { text } = await strict.get('/actuator/prometheus');
  assert.match(
    text,
    new RegExp(`kgrid_cds_answers_total\\{service="${idOf(ko)}",client="[a-z]+",outcome="deadline"\\} 1`),
  );
});

test('a broken cds-hooks.yaml leaves the endpoints alone, and the log says its line', async () => {
  const broken = hookKo({
    'cds-hooks.yaml': 'hook: patient-view\nendpoint: /run\ncode: src/cds.js\ninput: toInput\ncard: x\n',
  });
  await service.serve(broken);
  assertFails(await service.post(`/cds-services/${idOf(broken)}`, request({})), { status: 404 });
  const line = await service.logged(({ event, ko: key }) => event === 'cds-service-fails' && key === broken.id);
  assert.match(String(line['cause']), /cds-hooks.yaml line 5: card is no key of a service/);
  assert.equal((await service.post(`/${broken.naan}/age/1.0/run`, {})).status, 200);
});

/** Answers by path, and notes what was asked. */
async function listen(
  answers: Record<string, unknown>,
): Promise<{ url: string; asked: IncomingMessage[]; server: Server }> {
  const asked: IncomingMessage[] = [];
  const server = createServer((message, response) => {
    asked.push(message);
    const body = answers[message.url ?? ''];
    response.writeHead(body === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body ?? {}));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked, server };
}

test('what was not prefetched is read from a listed server, with the token that came and nowhere else', async () => {
  const fhir = await listen({ '/r4/Patient/p1': { resourceType: 'Patient', birthDate: '1980-01-01' } });
  const other = await listen({ '/r4/Patient/p1': { resourceType: 'Patient' } });
  try {
    await using reading = await startService({ args: ['--cds-fetch', `${fhir.url}/r4`, '--cds-deadline', '30s'] });
    await reading.serve(ko);
    const fhirAuthorization = { access_token: 'secret-token', token_type: 'Bearer' };
    const from = (fhirServer: string, context = {}): Promise<Answer> =>
      reading.post(`/cds-services/${idOf(ko)}`, {
        ...request(undefined, { fhirServer, fhirAuthorization }),
        context: { userId: 'Practitioner/1', patientId: 'p1', ...context },
      });
    const { object } = await from(`${fhir.url}/r4/`);
    assert.match(JSON.stringify(object), /1980-01-01/);
    assert.doesNotMatch(JSON.stringify(object), /secret-token/);
    const [first = assert.fail()] = fhir.asked.filter(({ url }) => url === '/r4/Patient/p1');
    assert.equal(first.headers.authorization, 'Bearer secret-token');
    for (const answer of [await from(`${other.url}/r4`), await from(`${fhir.url}/r4`, { patientId: '../../admin' })])
      assert.equal(withheld(answer), 'absent-prefetch: patient');
    assert.equal(other.asked.length, 0);
    assert.ok(fhir.asked.every(({ url }) => !url?.includes('admin')));
  } finally {
    fhir.server.close();
    other.server.close();
  }
});

test('with --cds-clients, only their tokens for this service open it, each once', async () => {
  const { privateKey, publicKey } = await generateKeyPair('ES384');
  const stranger = await generateKeyPair('ES384');
  const keys = await listen({ '/jwks': { keys: [{ ...(await exportJWK(publicKey)), kid: 'k', alg: 'ES384' }] } });
  const issuer = 'https://ehr.example.org';
  try {
    await using closed = await startService({
      profile: 'secure',
      args: ['--cds-clients', `${issuer}=${keys.url}/jwks`, '--cds-deadline', '30s'],
      env: { KGRID_USER: 'ann', KGRID_PASSWORD: 'pw' },
      credentials: 'ann:pw',
    });
    await closed.serve(ko);
    const url = `${closed.url}/cds-services/${idOf(ko)}`;
    const token = (claims: object = {}, key = privateKey): Promise<string> =>
      new SignJWT({ iss: issuer, aud: url, jti: crypto.randomUUID(), ...claims })
        .setProtectedHeader({ alg: 'ES384', kid: 'k', typ: 'JWT' })
        .setIssuedAt()
        .setExpirationTime('5m')
        .sign(key);
    const call = async (bearer: string | undefined): Promise<number> => {
      const answer = await fetch(url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
        },
        body: JSON.stringify(request({ patient: { resourceType: 'Patient' } })),
      });
      return answer.status;
    };
    const good = await token();
    assert.equal(await call(good), 200);
    for (const [name, refused] of Object.entries({
      none: undefined,
      'used before': good,
      'for another service': await token({ aud: `${closed.url}/cds-services/other` }),
      'of another issuer': await token({ iss: 'https://other.example.org' }),
      'by another key': await token({}, stranger.privateKey),
      'without jti': await token({ jti: undefined }),
      unsigned: `${Buffer.from('{"alg":"none"}').toString('base64url')}.${good.split('.')[1] ?? ''}.`,
    }))
      assert.equal(await call(refused), 401, name);
  } finally {
    keys.server.close();
  }
});
