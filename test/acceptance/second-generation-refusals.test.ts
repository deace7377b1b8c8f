import assert from 'node:assert/strict';
import { test } from 'node:test';
import { uniqueNaan, welcomeKo } from './support/ko.ts';
import { BMI, api, deployment, secondClient, secondKo, uniqueWord } from './support/second-generation.ts';
import type { Files } from './support/second-generation.ts';
import { theService } from './support/the-service.ts';

const service = await theService();
const { importOf, serve, endpointsAt, bmiAt } = secondClient(service);

const three = (): string => `${uniqueNaan()}/bmi/v1.0`;

const at = (atId: unknown, more: Readonly<Record<string, unknown>> = {}): Files =>
  secondKo({
    atId: String(atId),
    metadata: { '@id': atId, ...more },
    files: { 'bmi.js': BMI, 'deployment.yaml': deployment() },
  });

const refused: Readonly<Record<string, [files: () => Files, reason: RegExp]>> = {
  'an empty @id': [() => at(''), /@id in metadata\.json is empty/],
  'no @id': [() => at(undefined), /has no @id/],
  'an @id that is no text': [() => at({ x: 1 }), /@id in metadata\.json is {\\"x\\":1}; it must be a text/],
  'a range of versions': [() => at('99999/fk4/>=1.0'), /a range of versions: name one version/],
  'a naan of the service': [() => at('endpoints/fk4/v1.0'), /which is a path of this service/],
  'a naan of the service since this version': [() => at('mcp/fk4/v1.0'), /which is a path of this service/],
  'a folder that is not there': [
    () => at(uniqueWord(), { hasService: api(['gone/']) }),
    /the folder gone of a service/,
  ],
  'a folder outside': [() => at(uniqueWord(), { hasService: api(['../etc']) }), /the folder \.\.\/etc of a service/],
  'a service descriptor that is not there': [
    () => at(uniqueWord(), { hasService: api(['.'], { hasServiceSpecification: 'gone.yaml' }) }),
    /gone\.yaml, named by hasService in metadata\.json, is not in the package/,
  ],
  'a deployment descriptor that is not there': [
    () => at(uniqueWord(), { hasDeploymentSpecification: 'gone.yaml' }),
    /gone\.yaml, named by hasDeploymentSpecification in metadata\.json, is not in the package/,
  ],
  'an artifact that is not in its folder': [
    () =>
      secondKo({
        atId: uniqueWord(),
        metadata: { hasService: api(['a']) },
        files: { 'a/deployment.yaml': deployment() },
      }),
    /a\/bmi\.js, named by a\/deployment\.yaml line 2, is not in the package/,
  ],
  'the first generation without its fields': [
    () => {
      const { files } = welcomeKo({ naan: uniqueNaan(), metadata: { hasDeploymentSpecification: undefined } });
      return files;
    },
    /metadata\.json has no hasDeploymentSpecification/,
  ],
};

test('metadata and services that cannot be meant are 400, and leave the shelf as it was', async () => {
  const before = await service.get('/kos');
  for (const [what, [files, reason]] of Object.entries(refused)) {
    const answer = await importOf(files());
    assert.equal(answer.status, 400, `${what}: ${answer.text}`);
    assert.match(answer.text, reason, what);
  }
  assert.equal((await service.get('/kos')).text, before.text);
});

const disagreeing: Readonly<Record<string, [atId: string, parts: Readonly<Record<string, unknown>>, reason: RegExp]>> =
  {
    identifier: [three(), { 'dc:identifier': 'ark:/a/b/v1.0' }, /^identifier in metadata\.json is ark:\/a\/b\/v1\.0/],
    version: [three(), { 'dc:version': 'v7.0' }, /^version in metadata\.json is v7\.0/],
  };

test('ids of the form of the first generation must agree, and the address may be the @id', async () => {
  const files = { 'bmi.js': BMI, 'deployment.yaml': deployment() };
  for (const [what, [atId, metadata, reason]] of Object.entries(disagreeing)) {
    const place = await serve(secondKo({ atId, metadata, files }));
    assert.match(String((await endpointsAt(place))[0]?.['detail']), reason, what);
  }
  const word = uniqueWord();
  const elsewhere = await serve(secondKo({ atId: word, serverUrl: '/endpoints/other', files }));
  assert.match(
    String((await endpointsAt(elsewhere))[0]?.['detail']),
    new RegExp(
      `^servers\\[0\\]\\.url in service\\.yaml is /endpoints/other: expected .* or /endpoints/${word} or /${word}$`,
    ),
  );
  const lenient = { 'dc:identifier': 'ark:/99999/fk4/v9.9', 'dc:version': 'v3.0' };
  const place = await serve(secondKo({ atId: uniqueWord(), metadata: lenient, files }));
  assert.equal(await bmiAt(place), 22.9, 'an identifier cannot contradict a word');
});
