/** Makes something of everything happen that is measured. */
import { jsonBody, sender, upload } from '../../acceptance/support/client.ts';
import { pathOf } from '../../acceptance/support/knowledge-grid.ts';
import type { Client } from '../../acceptance/support/knowledge-grid.ts';
import { javascriptKo, resourceKo, serviceDescriptor, uniqueNaan } from '../../acceptance/support/ko.ts';
import type { Ko } from '../../acceptance/support/ko.ts';

const CODE = `function run(input) {
  if (input.fail) throw new Error('as it was asked to');
  if (input.refuse) throw Object.assign(new Error('refused'), { name: 'InvalidInputError' });
  const end = Date.now() + (input.wait ?? 0);
  while (Date.now() < end);
  if (input.loop) for (;;);
  return input;
}`;

export interface Load {
  readonly kos: readonly Ko[];
  /** One round of all. */
  round(): Promise<void>;
}

export async function loadOn(service: Client): Promise<Load> {
  const naan = uniqueNaan();
  const code = javascriptKo(CODE, { naan, name: 'code' });
  const strict = strictKo(naan);
  const files = resourceKo({ naan, name: 'files', resources: { 'a.csv': 'x\n1\n' } });
  const broken = javascriptKo('function run( {', { naan, name: 'broken' });
  await service.serve(code, strict, files, broken);
  const plain = sender(service.url);
  const call = (ko: Ko, input: unknown): Promise<unknown> => service.post(pathOf(ko, 'run'), input);
  const round = async (): Promise<void> => {
    const records = [{}, { fail: true }, { wait: 1 }].map((each) => JSON.stringify(each));
    await Promise.all([
      ...Array.from({ length: 20 }, (_, i) => call(code, { i })),
      call(code, { fail: true }),
      call(code, { refuse: true }),
      call(code, { wait: 20 }),
      call(strict, {}),
      call(strict, { age: 1 }),
      plain('POST', pathOf(code, 'run'), { body: '{', headers: { 'content-type': 'application/json' } }),
      plain('POST', pathOf(code, 'run'), {
        body: records.join('\n'),
        headers: { 'content-type': 'application/x-ndjson' },
      }),
      plain('GET', `/${naan}/files/files/a.csv`),
      plain('GET', `/kos/${code.id}`),
      plain('GET', '/kos'),
      plain('GET', `/nothing-is-here/${Math.random()}`),
      plain('PROPFIND', '/kos'),
      plain('POST', '/kos', upload(Buffer.from('no zip'))),
      plain('POST', '/kos/manifest', jsonBody(['http://127.0.0.1:1/none.zip'])),
    ]);
    await service.get(`/actuator/activation/reload/${broken.id}`);
  };
  return { kos: [code, strict, files, broken], round };
}

/** Holds its inputs to a schema. */
function strictKo(naan: string): Ko {
  const ko = javascriptKo(CODE, { naan, name: 'strict' });
  const deployment = { engine: 'javascript', artifact: 'src/index.js', function: 'run', validate: 'enforce' };
  const content = { 'application/json': { schema: { type: 'object', required: ['age'] } } };
  const post = { requestBody: { content }, responses: { '200': { description: 'x' } } };
  const descriptor = serviceDescriptor(`/${naan}/strict`, '1.0', []);
  return {
    ...ko,
    files: {
      ...ko.files,
      'service.yaml': JSON.stringify({ ...descriptor, paths: { '/run': { post } } }),
      'deployment.yaml': JSON.stringify({ '/run': { post: deployment } }),
    },
  };
}
