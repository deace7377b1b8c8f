/** Whoever reads the audit knows a knowledge object by its `@id`, not by where it stands. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { uniqueNaan, welcomeKo } from './support/ko.ts';
import { BMI, deployment, secondClient, secondKo, uniqueWord } from './support/second-generation.ts';
import { theService } from './support/the-service.ts';

const service = await theService();
const { serve } = secondClient(service);

const recordsOf = async (place: string): Promise<unknown[]> =>
  (await service.get(`/actuator/audit?ko=${place}`)).list.map(({ action, atId }) => [action, atId]);

test('records of a change name the @id beside the place', async () => {
  const atId = `https://example.org/kos/${uniqueWord()}`;
  const place = await serve(secondKo({ atId, files: { 'bmi.js': BMI, 'deployment.yaml': deployment() } }));
  const { object } = await service.get(`/kos/${place}`);
  assert.equal((await service.put(`/kos/${place}`, object)).status, 200);
  assert.equal((await service.delete(`/kos/${place}`)).status, 204);
  assert.equal((await service.send('POST', `/kos/${place}/restore`)).status, 201);
  assert.deepEqual(await recordsOf(place), [
    ['restore', atId],
    ['delete', atId],
    ['replace metadata', atId],
    ['reload', atId],
    ['import', atId],
  ]);
});

test('records of one whose @id is its place do not name it twice', async () => {
  const ko = welcomeKo({ naan: uniqueNaan() });
  await service.serve(ko);
  for (const record of await recordsOf(ko.id)) assert.equal((record as unknown[])[1], undefined);
});

test('a record of several names the @id of each behind its place', async () => {
  const atIds = [uniqueWord(), uniqueWord()];
  const places: string[] = [];
  for (const atId of atIds)
    places.push(await serve(secondKo({ atId, files: { 'bmi.js': BMI, 'deployment.yaml': deployment() } })));
  const manifest = places.map((place) => `${service.url}/kos/${place}`);
  const { status, text } = await service.send('POST', '/kos/manifest', {
    body: JSON.stringify({ manifest }),
    headers: { 'Content-Type': 'application/json' },
  });
  assert.equal(status, 200, text);
  const [record] = (await service.get(`/actuator/audit?limit=1&ko=${places[0]}`)).list;
  assert.equal(record?.['atId'], places.map((place, i) => `${place} ${atIds[i]}`).join(', '));
});
