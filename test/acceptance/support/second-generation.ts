/** Knowledge objects of the second generation, in the layouts that authors use. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { stringify } from 'yaml';
import type { Answer, JsonObject } from './client.ts';
import type { Client } from './knowledge-grid.ts';
import { serviceDescriptor, zipOf } from './ko.ts';
import type { Content } from './ko.ts';

export const ACTIVATION = 'https://kgrid.org/specs/activationSpec.html#object';
export const CONTEXT = 'https://kgrid.org/koio/2.1/context.jsonld';

/** An `@id` that no other test and no other run uses. */
export const uniqueWord = (word = 'bmi'): string => `${word}-${randomBytes(5).toString('hex')}`;

/** The body mass index of `{weight, height}`, in kg and m. */
export const BMI = 'function bmi({ weight, height }) { return Math.round((10 * weight) / height ** 2) / 10; }';

export interface SecondParts {
  readonly atId: string;
  /** Laid over the metadata. */
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** Of the service descriptor; `/endpoints/<@id>` when it is left out. */
  readonly serverUrl?: string;
  /** Of the service descriptor. */
  readonly paths?: readonly string[];
  /** Laid over the files. */
  readonly files?: Readonly<Record<string, Content>>;
}

/** Metadata and `service.yaml`; the rest is in the files. */
export function secondKo(parts: SecondParts): Readonly<Record<string, Content>> {
  const { atId, metadata = {}, serverUrl = `/endpoints/${atId}`, paths = ['/bmi'], files = {} } = parts;
  const all = {
    '@context': CONTEXT,
    '@id': atId,
    '@type': 'koio:KnowledgeObject',
    'dc:title': `Title of ${atId}`,
    'koio:kgrid': '2',
    ...metadata,
  };
  const endpoints = paths.map((path) => ({ path, consumes: ['application/json'], deployment: {} }));
  return {
    'metadata.json': JSON.stringify(all, undefined, 2),
    'service.yaml': stringify(serviceDescriptor(serverUrl, '1.0', endpoints)),
    ...files,
  };
}

/** An API with these implementations, each a folder. */
export const api = (folders: readonly string[], more: Readonly<Record<string, unknown>> = {}): unknown => ({
  '@type': 'API',
  implementedBy: folders.map((folder) => ({ '@id': folder, '@type': [ACTIVATION, 'JavaScript'] })),
  ...more,
});

/** As the second generation writes it: all below `engine`. */
export const deployment = (
  artifact: unknown = 'bmi.js',
  name = 'org.kgrid.javascript-activator',
  path = '/bmi',
): string => stringify({ [path]: { post: { engine: { name, artifact, function: 'bmi' } } } });

const ADA = { weight: 70, height: 1.75 };

export interface SecondClient {
  readonly importOf: (files: Files) => Promise<Answer>;
  /** Imports and activates. @returns the place. */
  readonly serve: (files: Files) => Promise<string>;
  readonly endpointsAt: (place: string) => Promise<JsonObject[]>;
  /** The result of a call at the address of the specification. */
  readonly bmiAt: (place: string, endpoint?: string) => Promise<unknown>;
}

export type Files = Readonly<Record<string, Content>>;

export function secondClient(service: Client): SecondClient {
  const importOf = async (files: Files): Promise<Answer> => service.importZip(await zipOf(files, 'any-folder/'));

  const endpointsAt = async (place: string): Promise<JsonObject[]> =>
    (await service.get('/endpoints')).list.filter((each) => each['knowledgeObject'] === `/kos/${place}`);

  async function serve(files: Files): Promise<string> {
    const answer = await importOf(files);
    assert.equal(answer.status, 200, answer.text);
    const place = String(answer.object['Added']).slice(0, -1);
    assert.equal(answer.headers['location'], `/kos/${place}`);
    assert.equal((await service.get(`/actuator/activation/reload/${place}`)).status, 303);
    return place;
  }

  async function bmiAt(place: string, endpoint = 'bmi'): Promise<unknown> {
    const name = place.slice(0, place.lastIndexOf('/'));
    const answer = await service.post(`/${name}/1.0/${endpoint}`, ADA);
    const why = JSON.stringify(await endpointsAt(place));
    assert.equal(answer.status, 200, `${answer.text} ${why}`);
    assert.equal((answer.object['info'] as JsonObject)['inputs'], JSON.stringify(ADA));
    return answer.object['result'];
  }

  return { importOf, serve, endpointsAt, bmiAt };
}
