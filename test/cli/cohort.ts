/** A knowledge object that says what it was given, and records for it. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';

const PROPERTIES = {
  id: { type: 'string' },
  age: { type: 'integer' },
  weight: { type: 'number' },
  smoker: { type: 'boolean' },
  drugs: { type: 'array', items: { type: 'string' } },
  lab: { type: 'object', properties: { a1c: { type: 'number' } } },
};
const json = (schema: object): object => ({ content: { 'application/json': { schema } } });

/** `test/cohort/v1.0`, whose endpoint `score` fails for an age below 0. */
export async function cohortKo(folder: string, code = SCORE): Promise<string> {
  const ko = join(folder, 'cohort');
  await mkdir(ko, { recursive: true });
  const metadata = {
    '@id': 'test/cohort/v1.0',
    '@type': 'koio:KnowledgeObject',
    identifier: 'ark:/test/cohort/v1.0',
    version: 'v1.0',
    title: 'Cohort',
    hasServiceSpecification: 'service.yaml',
    hasDeploymentSpecification: 'deployment.yaml',
    hasPayload: 'score.js',
  };
  const result = {
    type: 'object',
    properties: { id: { type: 'string' }, score: { type: 'number' }, seen: { type: 'object' } },
  };
  const service = {
    openapi: '3.0.3',
    info: { title: 'Cohort', version: '1.0' },
    servers: [{ url: '/test/cohort/1.0' }],
    paths: {
      '/score': {
        post: {
          requestBody: json({ $ref: '#/components/schemas/Person' }),
          responses: { 200: { description: 'The score', ...json({ type: 'object', properties: { result } }) } },
        },
      },
    },
    components: { schemas: { Person: { type: 'object', required: ['age'], properties: PROPERTIES } } },
  };
  const deployment = { '/score': { post: { artifact: 'score.js', engine: 'javascript', function: 'score' } } };
  await writeFile(join(ko, 'metadata.json'), JSON.stringify(metadata));
  await writeFile(join(ko, 'service.yaml'), stringify(service, { aliasDuplicateObjects: false }));
  await writeFile(join(ko, 'deployment.yaml'), stringify(deployment));
  await writeFile(join(ko, 'score.js'), code);
  return ko;
}

const SCORE = `function score(person) {
  if (person.age < 0) throw new Error('age must not be below 0');
  return { id: person.id, score: person.age * 2 || 0, seen: person };
}`;

/** A CSV of so many people, of whom every hundredth has an age that fails. */
export const people = (many: number): string =>
  `id,age\n${Array.from({ length: many }, (_, i) => `p${i},${i % 100 === 99 ? -1 : i % 90}\n`).join('')}`;
