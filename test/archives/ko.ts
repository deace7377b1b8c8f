/** Small valid knowledge objects as files and zips, for the tests of import and export. */
import { parseKoId } from '../../src/knowledge-object/id.ts';
import { buildZip } from './zip-builder.ts';

export type Files = Record<string, string | Buffer>;

export interface KoSpec {
  /** `<naan>/<name>/<version>`; `test/score/v1.0` when it is left out. */
  id?: string;
  apiVersion?: string;
  endpoint?: string;
  engine?: string;
  function?: string;
  artifact?: string;
  code?: string;
  /** Laid over the metadata; `undefined` leaves a field out. */
  metadata?: Record<string, unknown>;
  /** In place of the whole file. */
  deployment?: string;
  service?: string;
  /** Laid over the files; `undefined` leaves one out. */
  files?: Record<string, string | Buffer | undefined>;
}

export const CODE = 'function score(input) {\n  return input.a + input.b;\n}\n';

/** The files of a KO with one endpoint. */
export function koFiles(spec: KoSpec = {}): Files {
  const id = spec.id ?? 'test/score/v1.0';
  const { naan, name, version } = parseKoId(id) ?? { naan: 'test', name: 'score', version: 'v1.0' };
  const { endpoint = 'score', engine = 'javascript', artifact = 'src/index.js', apiVersion = '1.0' } = spec;
  const method = engine === 'resource' ? 'get' : 'post';
  const metadata = {
    '@id': id,
    '@type': 'koio:KnowledgeObject',
    identifier: `ark:/${naan}/${name}/${version}`,
    version,
    title: `Title of ${name}`,
    hasServiceSpecification: 'service.yaml',
    hasDeploymentSpecification: 'deployment.yaml',
    hasPayload: artifact,
    ...spec.metadata,
  };
  const files = {
    'metadata.json': `${JSON.stringify(metadata, undefined, 2)}\n`,
    'deployment.yaml':
      spec.deployment ??
      `/${endpoint}:\n  ${method}:\n    artifact: ${artifact}\n    engine: ${engine}\n    function: ${spec.function ?? 'score'}\n`,
    'service.yaml': spec.service ?? serviceYaml(`/${naan}/${name}`, apiVersion, endpoint, method),
    [artifact]: spec.code ?? CODE,
    ...spec.files,
  };
  return Object.fromEntries(Object.entries(files).filter((e): e is [string, string | Buffer] => e[1] !== undefined));
}

const serviceYaml = (url: string, version: string, endpoint: string, method: string): string => `openapi: 3.0.2
info:
  version: ${version}
  title: Test
servers:
  - url: ${url}
paths:
  /${endpoint}:
    ${method}:
      operationId: ${endpoint}
      requestBody:
        content:
          application/json:
            schema: {type: object}
      responses:
        '200':
          description: The result
          content:
            application/json: {}
`;

/** The files as a zip, deflated, in the order given. */
export const zipOf = (files: Files, { topFolder = '' }: { topFolder?: string } = {}): Buffer =>
  buildZip(
    Object.entries(files).map(([path, data]) => ({
      name: topFolder === '' ? path : `${topFolder}/${path}`,
      data,
      method: 8,
      flags: 0x800,
    })),
  );
