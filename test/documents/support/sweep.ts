/** Requests to every path of the service, and to its main errors. */
import { createHash } from 'node:crypto';
import { upload } from '../../acceptance/support/client.ts';
import type { Sent } from '../../acceptance/support/client.ts';
import { javascriptKo, resourceKo, zipOf } from '../../acceptance/support/ko.ts';
import type { Ko } from '../../acceptance/support/ko.ts';
import type { Method } from './interface.ts';
import { packageDigestOf } from './package-digest-of.ts';
import { json, raw, withHeaders } from './sent.ts';
import { restoreSteps } from './restore-steps.ts';
import { logs } from './sweep-logs.ts';

/** A request: the method, the path of the document, the path that is asked for, what is sent. */
export type Step = readonly [method: Method, path: string, url: string, sent?: Sent];

export const NAAN = 'sweep';
/** A body larger than this is refused by the service that is swept. */
export const MAX_BODY_BYTES = 20_000;
export const MAX_PACKAGE_BYTES = 40_000;

const CODE = `function run(input) {
  if (input === 'fail') throw new Error('as it was asked to');
  if (input.refuse) throw Object.assign(new Error('refused'), { name: 'InvalidInputError', status: input.refuse });
  const end = Date.now() + (input.wait ?? 0);
  while (Date.now() < end);
  return input;
}`;
export const code: Ko = javascriptKo(CODE, {
  naan: NAAN,
  name: 'code',
  consumes: ['application/json', 'text/plain'],
  produces: ['application/json', 'text/plain'],
});
export const files: Ko = resourceKo({ naan: NAAN, name: 'files', resources: { 'a/table.csv': 'x,y\n1,2\n' } });

const PAGE = { origin: 'https://elsewhere.example' };

const VERSIONED = '/{naan}/{name}/{apiVersion}/{endpoint}';
const NEWEST = '/{naan}/{name}/{endpoint}';
const BY_AT_ID = '/endpoints/{atId}/{endpoint}';
const ARTIFACT = `${VERSIONED}/{artifact}`;
const KO = '/kos/{naan}/{name}/{version}';
const FILE = `${KO}/{path}`;
const PACKAGES = '/proxy/packages/{digest}/{naan}/{name}/{version}/{path}';
const ARTIFACTS = '/proxy/artifacts/{naan}/{name}/{version}/{path}';

function calls(): Step[] {
  return [
    ...(
      [
        [VERSIONED, `/${NAAN}/code/1.0/run`],
        [NEWEST, `/${NAAN}/code/run`],
        [BY_AT_ID, `/endpoints/${code.id}/run`],
      ] as const
    ).flatMap(([path, url]): Step[] => [
      ['post', path, url, json({ a: 1 })],
      ['post', path, url, json('x', { accept: 'application/json;profile="minimal"' })],
      ['post', path, url, json('x', { accept: 'text/plain' })],
      ['post', path, url, raw('text', 'text/plain; charset=utf-8')],
      ['post', path, url, raw('{')],
      ['post', path, url, raw('')],
      ['post', path, url, json('fail')],
      ['post', path, url, json({ refuse: 400 })],
      ['post', path, url, json({ refuse: 422 })],
      ['post', path, url, json('x', { accept: 'image/png' })],
      ['post', path, url, raw('x', 'text/csv')],
      ['post', path, url, { body: 'x' }],
      ['post', path, url, json('x'.repeat(MAX_BODY_BYTES))],
      ['get', path, url],
    ]),
    ...(
      [
        [VERSIONED, `/${NAAN}/files/1.0/files`],
        [NEWEST, `/${NAAN}/files/files`],
      ] as const
    ).flatMap(([path, url]): Step[] => [
      ['get', path, url],
      ['get', path, url, withHeaders({ accept: 'image/png' })],
      ['head', path, url],
      ['post', path, url, json({})],
    ]),
    ['post', NEWEST, `/${NAAN}/code/run?v=1.0`, json({})],
    ['post', NEWEST, `/${NAAN}/code/run?v=v1.0`, json({})],
    ['post', NEWEST, `/${NAAN}/code/run?v=9`, json({})],
    ['post', VERSIONED, `/${NAAN}/code/9/run`, json({})],
    ['post', VERSIONED, '/no/such/1.0/endpoint', json({})],
    ['post', BY_AT_ID, '/endpoints/no/such', json({})],
    ['post', BY_AT_ID, `/endpoints/${files.id}/files`, json({})],
    ['get', VERSIONED, '/no/such/1.0/endpoint'],
    ['get', NEWEST, '/no/such/endpoint'],
    ...reads('get', VERSIONED, `/${NAAN}/files/files/table.csv`),
    ...reads('get', ARTIFACT, `/${NAAN}/files/1.0/files/a/table.csv`),
    ['get', ARTIFACT, `/${NAAN}/files/1.0/files/none.csv`],
    ['head', ARTIFACT, `/${NAAN}/files/1.0/files/a/table.csv`],
  ];
}

/** A file, a part of it, a part that is not there, and what a client has already. */
function reads(method: Method, path: string, url: string, etag = '*'): Step[] {
  return [
    [method, path, url],
    [method, path, url, withHeaders({ range: 'bytes=0-1' })],
    [method, path, url, withHeaders({ range: 'bytes=90000-' })],
    [method, path, url, withHeaders({ 'if-none-match': etag })],
  ];
}

function listings(): Step[] {
  const health = [
    '/actuator/health',
    '/actuator/health/liveness',
    '/actuator/health/readiness',
    '/actuator/info',
    '/actuator/prometheus',
    '/actuator/audit',
    '/actuator/fleet',
    '/actuator/problems',
    '/actuator/removed',
  ];
  const scripts = 'overview card objects about files login read element doc descriptor answers'.split(' ');
  const others = ['pages.css', 'icon.svg', 'swagger-ui.css', 'swagger-ui-bundle.js'];
  const pages = [...scripts.map((name) => `${name}.js`), ...others];
  const both = (path: string, url = path): Step[] => [
    ['get', path, url],
    ['head', path, url],
  ];
  return [
    ...both('/'),
    ['get', '/', '/', withHeaders({ accept: 'text/html' })],
    ['get', '/', '/', withHeaders({ accept: 'text/html', 'if-none-match': '*' })],
    ['get', '/doc', '/doc', withHeaders({ 'if-none-match': '*' })],
    ['get', '/console', '/console', withHeaders({ 'if-none-match': '*' })],
    ['get', '/console/{file}', '/console/main.js', withHeaders({ 'if-none-match': '*' })],
    ['get', '/doc/{file}', '/doc/doc.js', withHeaders({ 'if-none-match': '*' })],
    ...both('/doc', `/doc?url=/kos/${code.id}/service.yaml`),
    ...both('/console'),
    ...['main.js', 'try/try.js', 'lib/preact.mjs', 'none.js'].flatMap((file) =>
      both('/console/{file}', `/console/${file}`),
    ),
    ...pages.flatMap((page) => both('/doc/{file}', `/doc/${page}`)),
    ...both('/doc/overview.json'),
    ['get', '/doc/overview.json', '/doc/overview.json', withHeaders({ 'if-none-match': '*' })],
    ...['files', 'about', 'forms'].flatMap((what): Step[] => {
      const [route, url] = [`/doc/${what}/{naan}/{name}/{version}`, `/doc/${what}/${code.id}`];
      return [
        ...both(route, url),
        ['get', route, url, withHeaders({ 'if-none-match': '*' })],
        ['get', route, `/doc/${what}/no/such/ko`],
      ];
    }),
    ...both('/openapi.json'),
    ...both('/openapi.yaml'),
    ...both('/endpoints'),
    ['get', '/endpoints', '/endpoints/'],
    ['get', '/endpoints', '/endpoints?limit=1&q=run'],
    ['get', '/endpoints', '/endpoints?limit=0'],
    ...both('/endpoints/{engine}', '/endpoints/JavaScript'),
    ['get', '/endpoints/{engine}', '/endpoints/cobol'],
    ['get', '/endpoints/{engine}', '/endpoints/javascript?after=nothing'],
    ...both('/endpoints/{naan}/{name}/{endpoint}', `/endpoints/${NAAN}/code/run`),
    ['get', '/endpoints/{naan}/{name}/{endpoint}', `/endpoints/${NAAN}/code/run?v=1.0`],
    ['get', '/endpoints/{naan}/{name}/{endpoint}', `/endpoints/${NAAN}/code/run?v=9`],
    ['get', '/endpoints/{naan}/{name}/{endpoint}', `/endpoints/${NAAN}/code/none`],
    ['get', '/endpoints/{naan}/{name}/{endpoint}', `/endpoints/${NAAN}/code/run?limit=x`],
    ...both('/endpoints/{naan}/{name}/{apiVersion}/{endpoint}', `/endpoints/${NAAN}/code/1.0/run`),
    ...both('/endpoints/{atId}/{endpoint}', `/endpoints/${encodeURIComponent(code.id)}/run`),
    ['get', '/endpoints/{atId}/{endpoint}', '/endpoints/none/run'],
    ['get', '/endpoints/{naan}/{name}/{apiVersion}/{endpoint}', `/endpoints/${NAAN}/code/9/run`],
    ...health.flatMap((path) => both(path)),
    ['get', '/actuator/prometheus', '/actuator/prometheus', withHeaders({ accept: 'application/openmetrics-text' })],
    ...logs(code.id),
    ...['application/yaml', 'text/yaml', 'application/x-yaml', 'text/vnd.yaml'].map((accept): Step => [
      'get',
      '/actuator/info',
      '/actuator/info',
      withHeaders({ accept }),
    ]),
  ];
}

function activation(): Step[] {
  return ['/actuator/activation', '/actuator'].flatMap((base): Step[] => [
    ['get', `${base}/refresh`, `${base}/refresh`],
    ['get', `${base}/refresh/{engine}`, `${base}/refresh/javascript`],
    ['get', `${base}/refresh/{naan}/{name}`, `${base}/refresh/${NAAN}/code`],
    ['get', `${base}/refresh/{naan}/{name}`, `${base}/refresh/no/such`],
    ['get', `${base}/refresh/{naan}/{name}/{version}`, `${base}/refresh/${code.id}`],
    ['get', `${base}/refresh/{naan}/{name}/{version}`, `${base}/refresh/${NAAN}/code/v9`],
    ['get', `${base}/reload`, `${base}/reload`],
    ['get', `${base}/reload/{naan}`, `${base}/reload/${NAAN}`],
    ['get', `${base}/reload/{naan}/{name}`, `${base}/reload/${NAAN}/code/?v=v1.0`],
    ['get', `${base}/reload/{naan}/{name}`, `${base}/reload/no/such`],
    ['get', `${base}/reload/{naan}/{name}/{version}`, `${base}/reload/${code.id}`],
    ['get', `${base}/reload/{naan}/{name}/{version}`, `${base}/reload/${NAAN}/code/v9`],
  ]);
}

/** `etag`: of the metadata of the KO with code. `packages`: the address of a zip. */
async function shelf(): Promise<Step[]> {
  const path = `/kos/${code.id}`;
  const zip = await zipOf(files.files);
  const zipWanted = withHeaders({ accept: 'application/zip' });
  const noise = Buffer.concat(Array.from({ length: 2000 }, (_, i) => createHash('sha256').update(String(i)).digest()));
  const large = await zipOf({ ...files.files, 'noise.bin': noise }, '', { compress: false });
  return [
    ['get', '/kos', '/kos'],
    ['get', '/kos', `/kos?limit=1&q=${NAAN}`],
    ['get', '/kos', '/kos?limit=1001'],
    ['head', '/kos', '/kos/'],
    ['get', '/kos', '/kos', withHeaders({ 'if-none-match': '*' })],
    ['post', '/kos', '/kos', upload(zip)],
    ['post', '/kos', '/kos', upload(Buffer.from('no zip'))],
    ['post', '/kos', '/kos', upload(zip, 'other')],
    ['post', '/kos', '/kos', upload(large)],
    ['post', '/kos', '/kos', raw('x', 'application/zip')],
    ['get', '/kos/{naan}', `/kos/${NAAN}`],
    ['get', '/kos/{naan}', `/kos/${NAAN}?limit=1`],
    ['get', '/kos/{naan}', `/kos/${NAAN}`, withHeaders({ 'if-none-match': '*' })],
    ['get', '/kos/{naan}', `/kos/${NAAN}?after=nothing`],
    ['get', '/kos/{naan}', '/kos/nobody'],
    ['head', '/kos/{naan}', `/kos/${NAAN}`],
    ['get', '/kos/{naan}/{name}', `/kos/${NAAN}/code`],
    ['get', '/kos/{naan}/{name}', `/kos/${NAAN}/code?v=v1.0`, zipWanted],
    ['get', '/kos/{naan}/{name}', `/kos/${NAAN}/code`, withHeaders({ 'if-none-match': '*' })],
    ['get', '/kos/{naan}/{name}', `/kos/${NAAN}/code?v=v9`],
    ['get', '/kos/{naan}/{name}', `/kos/${NAAN}/code?v=v9`, zipWanted],
    ['head', '/kos/{naan}/{name}', `/kos/${NAAN}/code`],
    ['get', KO, path],
    ['get', KO, `${path}?format=zip`],
    ['get', KO, path, withHeaders({ 'if-none-match': '*' })],
    ['get', KO, `/kos/${NAAN}/code/v9`],
    ['head', KO, path],
    ['put', KO, path, json({ ...code.metadata, title: 'Another title' })],
    ['put', KO, path, json([])],
    ['put', KO, path, raw('{')],
    ['put', KO, path, json(code.metadata, { 'if-match': '"another"' })],
    ['put', KO, path, raw('{}', 'text/plain')],
    ['put', KO, path, json('x'.repeat(MAX_BODY_BYTES))],
    ['put', KO, `/kos/${NAAN}/code/v9`, json({})],
    ...restoreSteps(`${KO}/restore`, `${path}/restore`, 'x'.repeat(MAX_BODY_BYTES)),
    ['get', '/kos/ark:/{naan}/{name}', `/kos/ark:/${NAAN}/code`],
    ['get', '/kos/ark:/{naan}/{name}', `/kos/ark:/${NAAN}/none`],
    ['get', '/kos/ark:/{naan}/{name}', `/kos/ark:/${NAAN}/code?limit=x`],
    ['head', '/kos/ark:/{naan}/{name}', `/kos/ark:${NAAN}/code`],
    ['get', '/kos/ark:/{naan}/{name}/{version}', `/kos/ark:/${code.id}`],
    ['get', '/kos/ark:/{naan}/{name}/{version}', `/kos/ark:/${NAAN}/code/v9`],
    ['head', '/kos/ark:/{naan}/{name}/{version}', `/kos/ark:/${code.id}`],
    ['get', '/kos/{naan}', `/kos/${encodeURIComponent(code.id)}`],
    ['get', '/kos/{naan}', `/kos/${encodeURIComponent(code.id)}`, zipWanted],
    ...reads('get', '/kos/{atId}/service', `/kos/${encodeURIComponent(code.id)}/service`),
    ['head', '/kos/{atId}/service', `${path}/service`],
    ['get', '/kos/{atId}/service', '/kos/none/service'],
    ['get', '/kos/{atId}/doc', `${path}/doc`],
    ['get', '/kos/{atId}/doc', '/kos/none/doc'],
    ['head', '/kos/{atId}/doc', `${path}/doc`],
    ...reads('get', FILE, `${path}/service.yaml`),
    ...reads('get', FILE, `${path}/metadata.json`),
    ['get', FILE, `${path}/none.txt`],
    ['head', FILE, `${path}/service.yaml`],
    ...['/kos/manifest', '/kos/manifest-list'].flatMap((manifest): Step[] => [
      ['post', manifest, manifest, json([])],
      ['post', manifest, manifest, raw('{')],
      ['post', manifest, manifest, raw('[]', 'text/plain')],
      ['post', manifest, manifest, json(['x'.repeat(MAX_BODY_BYTES)])],
    ]),
  ];
}

function runtimes(): Step[] {
  const path = '/proxy/environments';
  const engine = `${path}/{engine}`;
  const ofPackage = `/proxy/packages/${packageDigestOf(files)}/${files.id}`;
  const registration = json({ engine: 'cobol', url: 'http://127.0.0.1:9', version: '1' });
  return [
    ...Array<Step>(2).fill(['post', path, path, registration]),
    ['post', path, path, json({ engine: 'cobol' })],
    ['post', path, path, json([])],
    ['post', path, path, raw('x', 'text/plain')],
    ['get', path, path],
    ['head', path, path],
    ['get', engine, `${path}/cobol`],
    ['get', engine, `${path}/none`],
    ['head', engine, `${path}/cobol`],
    ...[[ARTIFACTS, `/proxy/artifacts/${files.id}`] as const, [PACKAGES, ofPackage] as const].flatMap(
      ([each, url]): Step[] => [
        ...reads('get', each, `${url}/a/table.csv`),
        ...(['get', 'head'] as const).map((method): Step => [
          method,
          each,
          `${url}/${method === 'get' ? 'none' : 'a/table.csv'}`,
        ]),
      ],
    ),
  ];
}

/** What changes the shelf last. */
const removal: Step[] = [
  ['delete', KO, `/kos/${code.id}`, withHeaders({ 'if-match': '"another"' })],
  ...Array<Step>(2).fill(['delete', KO, `/kos/${code.id}`]),
  ['post', `${KO}/restore`, `/kos/${code.id}/restore`, {}],
  ['delete', KO, `/kos/${code.id}`],
];

export const sweep = async (): Promise<Step[]> => [
  ...calls(),
  ...listings(),
  ...activation(),
  ...(await shelf()),
  ...runtimes(),
  ...removal,
];

/** Pages of other sites, for all that changes something. */
export const fromAPage = (steps: readonly Step[]): Step[] =>
  steps.map(([method, path, url, sent]) => [method, path, url, { ...sent, headers: { ...sent?.headers, ...PAGE } }]);
