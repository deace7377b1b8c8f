/** Knowledge objects made in code, as small as a test needs them. */
import { randomBytes } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { stringify } from 'yaml';
import { ZipFile } from 'yazl';

export type Content = string | Buffer;

export interface Ko {
  readonly naan: string;
  readonly name: string;
  readonly version: string;
  readonly apiVersion: string;
  /** `<naan>/<name>/<version>`. */
  readonly id: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly files: Readonly<Record<string, Content>>;
}

/** One endpoint as both descriptors have it. */
export interface EndpointParts {
  readonly path: string;
  readonly method?: 'get' | 'post';
  /** Media types of the request body; none gives an operation without a body. */
  readonly consumes?: readonly string[];
  /** Media types of the answer 200. */
  readonly produces?: readonly string[];
  readonly deployment: Readonly<Record<string, unknown>>;
}

export interface KoParts {
  readonly naan: string;
  readonly name?: string;
  readonly version?: string;
  readonly apiVersion?: string;
  readonly serverUrl?: string;
  readonly endpoints?: readonly EndpointParts[];
  /** Laid over the metadata; a key with `undefined` is left out. */
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** Laid over the files; `undefined` leaves one out. */
  readonly files?: Readonly<Record<string, Content | undefined>>;
}

/** A naan that no other test and no other run uses. */
export const uniqueNaan = (): string => `acc${randomBytes(6).toString('hex')}`;

export const CONTEXT = ['http://kgrid.org/koio/contexts/knowledgeobject.jsonld'];

export function ko(parts: KoParts): Ko {
  const { naan, name = 'ko', version = 'v1.0', apiVersion = '1.0', endpoints = [] } = parts;
  const metadata = defined({
    '@id': `${naan}/${name}/${version}`,
    '@type': 'koio:KnowledgeObject',
    identifier: `ark:/${naan}/${name}/${version}`,
    version,
    title: `Title of ${name}`,
    description: 'A knowledge object of the acceptance suite',
    keywords: ['acceptance', 'test'],
    contributors: 'Kgrid Team',
    hasServiceSpecification: 'service.yaml',
    hasDeploymentSpecification: 'deployment.yaml',
    hasPayload: 'src/index.js',
    '@context': CONTEXT,
    ...parts.metadata,
  });
  const service = serviceDescriptor(parts.serverUrl ?? `/${naan}/${name}`, apiVersion, endpoints);
  const deployment = Object.fromEntries(endpoints.map((e) => [e.path, { [methodOf(e)]: e.deployment }]));
  const files = defined({
    'metadata.json': JSON.stringify(metadata, undefined, 2),
    'service.yaml': stringify(service),
    'deployment.yaml': stringify(deployment),
    ...parts.files,
  });
  return { naan, name, version, apiVersion, id: `${naan}/${name}/${version}`, metadata, files };
}

export const methodOf = (endpoint: EndpointParts): 'get' | 'post' => endpoint.method ?? 'post';

export function serviceDescriptor(url: string, apiVersion: string, endpoints: readonly EndpointParts[]): object {
  return {
    openapi: '3.0.2',
    info: {
      version: apiVersion,
      title: 'Acceptance',
      description: 'Made by a test',
      license: { name: 'GNU General Public License v3 (GPL-3)' },
      contact: { name: 'KGrid', url: 'http://kgrid.org' },
    },
    servers: [{ url }],
    tags: [{ name: 'Acceptance' }],
    paths: Object.fromEntries(endpoints.map((e) => [e.path, { [methodOf(e)]: operation(e) }])),
    components: { schemas: { input: { type: 'object', properties: { name: { type: 'string', example: 'Ada' } } } } },
  };
}

function operation({ path, consumes, produces = ['application/json'] }: EndpointParts): object {
  const content = (types: readonly string[]): object =>
    Object.fromEntries(types.map((type) => [type, { schema: { $ref: '#/components/schemas/input' } }]));
  return {
    operationId: path.replaceAll('/', ''),
    ...(consumes === undefined ? {} : { requestBody: { required: true, content: content(consumes) } }),
    responses: {
      200: { description: 'OK', content: content(produces) },
      default: {
        description: 'Error',
        content: {
          'application/json': { schema: { $ref: 'https://schemas.invalid/error.yaml#/components/schemas/error' } },
        },
      },
    },
  };
}

export interface JavascriptParts extends Omit<KoParts, 'endpoints'> {
  readonly endpoint?: string;
  readonly function?: string;
  readonly artifact?: string;
  readonly consumes?: readonly string[];
  readonly produces?: readonly string[];
  /** Laid over the endpoint's deployment. */
  readonly deployment?: Readonly<Record<string, unknown>>;
}

/** A KO with one endpoint, `/run` unless said otherwise, that runs the function `run` of the code. */
export function javascriptKo(code: string, parts: JavascriptParts): Ko {
  const { endpoint = 'run', artifact = 'src/index.js', consumes = ['application/json'], produces } = parts;
  return ko({
    ...parts,
    endpoints: [
      {
        path: `/${endpoint}`,
        consumes,
        ...(produces === undefined ? {} : { produces }),
        deployment: defined({
          artifact,
          engine: 'javascript',
          function: parts.function ?? 'run',
          ...parts.deployment,
        }),
      },
    ],
    metadata: { hasPayload: artifact, ...parts.metadata },
    files: { [artifact]: code, ...parts.files },
  });
}

export const WELCOME = 'function run(input) { return "Welcome to the Knowledge Grid, " + input.name; }';

/** The usual example: answers `Welcome to the Knowledge Grid, <name>`. */
export const welcomeKo = (parts: JavascriptParts): Ko => javascriptKo(WELCOME, { endpoint: 'welcome', ...parts });

export interface ResourceParts extends Omit<KoParts, 'endpoints'> {
  readonly endpoint?: string;
  readonly resources: Readonly<Record<string, Content>>;
  /** As in the deployment; all the paths when it is left out. */
  readonly artifact?: string | readonly string[];
}

/** A KO of engine `resource` that gives files. */
export function resourceKo(parts: ResourceParts): Ko {
  const artifact = parts.artifact ?? Object.keys(parts.resources);
  return ko({
    ...parts,
    endpoints: [{ path: `/${parts.endpoint ?? 'files'}`, method: 'get', deployment: { artifact, engine: 'resource' } }],
    metadata: { hasPayload: undefined, ...parts.metadata },
    files: { ...parts.resources, ...parts.files },
  });
}

export async function zipOf(
  files: Readonly<Record<string, Content>>,
  folder = '',
  options: { compress?: boolean } = {},
): Promise<Buffer> {
  const zip = new ZipFile();
  for (const [path, content] of Object.entries(files)) zip.addBuffer(Buffer.from(content), folder + path, options);
  zip.end();
  return buffer(zip.outputStream);
}

const defined = <T>(record: Readonly<Record<string, T | undefined>>): Record<string, T> =>
  Object.fromEntries(Object.entries(record).filter((entry): entry is [string, T] => entry[1] !== undefined));
