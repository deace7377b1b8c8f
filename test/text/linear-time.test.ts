/**
 * Text from outside takes no more than a time that grows as the text does: else one request, one package or one answer
 * of a runtime keeps all others waiting. A new parser of outside text is one row.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pino } from 'pino';
import { describe, describeLoad } from '../../runtimes/node/worker/describe.ts';
import { parseDescriptor } from '../../runtimes/server/activation/descriptor.ts';
import { isUri, parseArtifactPath, parseUri } from '../../runtimes/server/lib/paths.ts';
import { endpointProblems, koProblems } from '../../src/activation/agreement.ts';
import { EndpointSet } from '../../src/activation/endpoint-set.ts';
import type { LoadedKo } from '../../src/activation/loaded-ko.ts';
import { placeOf } from '../../src/check/findings.ts';
import { CallTokens } from '../../src/engines/call-token.ts';
import { EngineRegistry } from '../../src/engines/engine-registry.ts';
import type { EndpointPlan } from '../../src/engines/engine.ts';
import { activateAt } from '../../src/engines/external/activate-at.ts';
import { resultOf } from '../../src/engines/external/answers.ts';
import type { RuntimeAnswer } from '../../src/engines/external/runtime-connections.ts';
import { RuntimeRegistry } from '../../src/engines/external/runtime-registry.ts';
import type { Runtime } from '../../src/engines/external/runtime.ts';
import { allowedAt, endpointAt, keyOf, nothingActive, resourceAt } from '../../src/execution/find-endpoint.ts';
import { Negotiation } from '../../src/execution/negotiation.ts';
import { matchesEtag } from '../../src/http/headers.ts';
import { Login } from '../../src/identity/login.ts';
import { parseDeployment } from '../../src/knowledge-object/descriptors/deployment.ts';
import { parseService, type Service } from '../../src/knowledge-object/descriptors/service.ts';
import { compareVersions, parseArk, parseKoId } from '../../src/knowledge-object/id.ts';
import { readMetadata } from '../../src/knowledge-object/metadata.ts';
import { isPackagePath, withoutDot } from '../../src/knowledge-object/package-path.ts';
import { atIdProblem, placeOf as shelfPlaceOf } from '../../src/knowledge-object/places.ts';
import { parseWorkedExamples } from '../../src/knowledge-object/worked-examples.ts';
import { isJson } from '../../src/lib/media-type.ts';
import { preferredType } from '../../src/lib/preferred-type.ts';
import {
  escapeForMessage,
  oneLine,
  withoutEndSlashes,
  withoutSlashes,
  withoutStartSlashes,
} from '../../src/lib/text.ts';
import { pathOf } from '../../src/lib/url-path.ts';
import { DEFAULT_PACKAGE_LIMITS } from '../../src/shelf/archive/archive.ts';
import { MANIFEST_LIMITS } from '../../src/shelf/manifest/manifest-run.ts';
import { parseManifest, parseManifestText } from '../../src/shelf/manifest/parse-manifest.ts';
import { nameProblem, readName } from '../../src/shelf/zip/entry-rules.ts';
import { javascriptKo, ko } from '../acceptance/support/ko.ts';
import { decidedEndpointsOf, loaded, ManualEngine } from '../support/in-memory.ts';
import { assertLinear, type Parser } from './support/growth.ts';

const MB = 2 ** 20;
const { metadata: METADATA, descriptor: DESCRIPTOR } = DEFAULT_PACKAGE_LIMITS;

/** A row: its name, what stands at the start, what is repeated, what stands at the end, the parser, its limit. */
const row = (
  name: string,
  [start, again, end]: readonly [string, string, string],
  parse: (text: string) => unknown,
  limit = MB,
): Parser => ({
  name,
  worst: (size) =>
    start + again.repeat(Math.max(1, Math.floor((size - start.length - end.length) / again.length))) + end,
  parse,
  limit,
});

const page = ko({
  naan: 'a',
  name: 'b',
  endpoints: [
    { path: '/page', method: 'get', produces: ['text/*'], deployment: { artifact: 'a.js', engine: 'resource' } },
  ],
});
const pages = await decidedEndpointsOf(page, new ManualEngine({ name: 'resource', method: 'get' }));
const [endpoint] = pages;
assert.ok(endpoint !== undefined);
const set = new EndpointSet(pages, []);
const agreeing = await loaded(javascriptKo('', { naan: 'a' }));
const [{ from, entry } = assert.fail()] = agreeing.declared;
const withService = (service: Partial<Service>): LoadedKo =>
  ({ ...agreeing, services: [{ ...from, service: { ...from.service, ...service } }] }) as unknown as LoadedKo;
const withDetails = (details: Partial<LoadedKo['details']>): LoadedKo =>
  ({ ...agreeing, details: { ...agreeing.details, ...details } }) as LoadedKo;

const log = pino({ level: 'silent' });
const remote = {
  callTimeout: 1000,
  activationTimeout: 1000,
  queueLimit: 1,
  maxResult: MB,
  tokens: new CallTokens(),
  stopped: new AbortController().signal,
  log,
};
const plan: EndpointPlan = {
  id: 'a/b/c/d',
  ko: { naan: 'a', name: 'b', version: 'c' },
  engine: 'node',
  endpoint: 'd',
  apiVersion: 'c',
  artifacts: [],
  entry: '',
  function: undefined,
  options: { isolation: 'ko', timeout: undefined },
  descriptor: {},
  checksum: '',
  files: new Map(),
  read: () => Promise.reject(new Error('nothing is there')),
};
const answering = (fields: object, status = 200): Runtime =>
  ({
    engine: 'node',
    url: 'http://127.0.0.1:1',
    activator: '',
    confirm: () => Promise.resolve(),
    request: () =>
      Promise.resolve({ status, contentType: 'application/json', body: Buffer.from(JSON.stringify(fields)) }),
  }) as unknown as Runtime;
const activated = (fields: object, status?: number): Promise<unknown> =>
  activateAt(
    answering(fields, status),
    plan,
    { progress: () => undefined, signal: new AbortController().signal },
    remote,
  );
const failed = (fields: object | string): RuntimeAnswer => ({
  status: 500,
  contentType: 'application/json',
  body: Buffer.from(typeof fields === 'string' ? fields : JSON.stringify(fields)),
});
const registry = new RuntimeRegistry({
  ...remote,
  engines: new EngineRegistry(),
  expiry: 60_000,
});
const login = new Login({
  oauth: { issuer: 'http://127.0.0.1:1', audience: 'a' },
  log,
});
const negotiation = (): Negotiation => new Negotiation(endpoint);
const service = (text: string): unknown => parseService(text, 'service.yaml');
const deployment = (text: string): unknown => parseDeployment(text, 'deployment.yaml');
const files = new Map<string, unknown>();
const asked = undefined;

const rows: Parser[] = [
  ...(['withoutSlashes', 'withoutEndSlashes', 'withoutStartSlashes'] as const).map((name) =>
    row(name, ['a', '/', 'b'], { withoutSlashes, withoutEndSlashes, withoutStartSlashes }[name]),
  ),
  row('oneLine', ['a', ' \n', 'b'], oneLine),
  row('shown', ['', '\u202e', ''], escapeForMessage),

  // Requests
  row('keyOf: slashes', ['/a/b/c', '/', 'd'], keyOf),
  row('keyOf: percent signs', ['/a/b/c/', '%2f', 'd'], keyOf),
  row('resourceAt', ['a/b', '/c', '/d'], (text) => resourceAt(set, text, undefined)),
  row('resourceAt with a version', ['a/b', '/c', '/d'], (text) => resourceAt(set, text, 'v1')),
  row('endpointAt', ['a/b', '/c', '/d'], (text) => endpointAt(set, text, text, 'post')),
  row('allowedAt', ['a/b', '/c', '/d'], (text) => allowedAt(set, text, 'v1')),
  row('nothingActive', ['a/b', '/c', '/d'], (key) => nothingActive(set, { key, version: 'v1', asked }, [])),
  row('pathOf', ['http://', 'a', ''], pathOf),
  row('Accept of an endpoint', ['', 'text/a,', 'text/b'], (text) => negotiation().answerForm(text)),
  row('Accept of an endpoint: parameters', ['text/a', ';a="', ''], (text) => negotiation().answerForm(text)),
  row('Accept of an endpoint: spaces', ['text/a;', ' ', 'q'], (text) => negotiation().answerForm(text)),
  row('Accept', ['', 'a/b;c=d,', ''], (text) => preferredType(text, ['application/json', 'application/zip'])),
  row('Content-Type', ['a', '/', ''], (text) => negotiation().readsJson(text)),
  row('If-None-Match', ['', '"a",', ''], (text) => matchesEtag(text, '"b"')),
  row('Authorization', ['Bearer ', ' ', '\n'], (authorization) => login.identify({ authorization })),
  row('a bearer token', ['Bearer a', '.a', '!'], (authorization) => login.identify({ authorization })),

  // Packages
  row('parseKoId', ['a/b/c', '/', ''], parseKoId),
  row('parseArk', ['ark:', '/', 'a'], parseArk),
  ...['a-', '<', '@ ', '1.', '['].map((again) =>
    row(`places: ${again}`, ['a/', again, '1'], (text) => [shelfPlaceOf(text, { version: text }), atIdProblem(text)]),
  ),
  row('compareVersions', ['v', '1.', '0'], (text) => compareVersions(text, `${text}1`), 64 * 1024),
  row('isPackagePath', ['a', '/', 'b'], isPackagePath),
  row('withoutDot', ['', './', '/'], withoutDot),
  row('names in a zip', ['a', '/', 'b'], nameProblem, 65_535),
  row('names in a zip, as bytes', ['a', 'ö/', 'b'], (text) => readName(Buffer.from(text), 0, []), 65_535),
  row('metadata: equal keys', ['{', '"@id":1,', '"@id":1}'], readMetadata, METADATA),
  row('metadata: versions', ['{"@id":"a/b/c",', '"version":1,', '"version":1}'], readMetadata, METADATA),
  row('metadata: quotes', ['{"@id":1,"a":"', '\\"', '"}'], readMetadata, METADATA),
  row('metadata: an open string', ['{"@id":1,"a":"', '\\"', ''], readMetadata, METADATA),
  row('metadata: spaces', ['{"@id":1,"a":"b"', ' ', '}'], readMetadata, METADATA),
  row('metadata: brackets', ['{"version":1,"@id":', '[', ''], readMetadata, METADATA),
  row('metadata: terms', ['{"@id":"a",', '"dc:a":1,', '"koio:kgrid":2}'], readMetadata, METADATA),
  row('metadata: names', ['{"@context":{', '"a":"a:b",', '"b":"a:a"},"a:a":1,"dc:title":1}'], readMetadata, METADATA),
  row('metadata: types', ['{"@id":"a","hasService":{"@type":"', '/#', '"}}'], readMetadata, METADATA),
  row('metadata: folders', ['{"@id":"a","hasService":{"implementedBy":"', './', '"}}'], readMetadata, METADATA),
  row('metadata: nested lists', ['{"@id":"a","dc:title":', '[', '1'], readMetadata, METADATA),
  row('metadata: excerpts', ['{"a":', ', ..."', ''], readMetadata, METADATA),
  row('koProblems: slashes', ['/a/b', '/', 'c'], (url) => koProblems(withService({ servers: [url] })), DESCRIPTOR),
  row(
    'koProblems: climbing',
    ['http://a', '/b/..', ''],
    (url) => koProblems(withService({ servers: [url] })),
    DESCRIPTOR,
  ),
  row(
    'koProblems: identifier',
    ['ark:', '/', ''],
    (identifier) => koProblems(withDetails({ claims: { identifiers: [identifier], addresses: [] } })),
    METADATA,
  ),
  row(
    'endpointProblems',
    ['', '/a\n', '/b'],
    (text) => {
      const paths = new Map(
        text.split('\n').map((path, i) => [`${path}${i}`, { methods: new Map<string, never>(), line: 1 }]),
      );
      const ko = withService({ paths });
      const [service = assert.fail()] = ko.services;
      return Array.from({ length: 50 }, () => endpointProblems(service, entry, new Map()));
    },
    MB,
  ),

  // Descriptors
  row('YAML: a list', ['a: [', '1,', '1]'], service, DESCRIPTOR),
  row('YAML: a list of lines', ['a:\n', '- 1\n', ''], service, MB),
  row('YAML: equal keys', ['', 'a: 1\n', ''], service, DESCRIPTOR),
  {
    name: 'YAML: keys',
    worst: (size) => Array.from({ length: Math.floor(size / 12) }, (_, i) => `k${1e6 + i}: 1\n`).join(''),
    parse: service,
    limit: MB,
  },
  row('YAML: a long key', ['', 'a', ': 1\n'], service, MB),
  row('YAML: a long key in quotes', ['"', 'a\\n', '": 1\n'], service, DESCRIPTOR),
  row('YAML: brackets', ['a: ', '[', ''], service, DESCRIPTOR),
  row('YAML: closed brackets', ['a: ', '[],', ''], service, MB),
  row('YAML: nested maps', ['', 'a: {', ''], service, MB),
  row('YAML: spaces', ['a:', ' ', '1'], service, MB),
  row('YAML: empty lines', ['a:\n', '\n', ' 1'], service, MB),
  row('YAML: comments', ['', '# a\n', 'a: 1'], service, MB),
  row('YAML: folded lines', ['a: >\n', '  a\n', ''], service, MB),
  row('YAML: lines of plain text', ['a: b\n', '  c\n', ''], service, MB),
  row('YAML: an open quote', ["a: '", "b''", ''], service, DESCRIPTOR),
  row('YAML: backslashes', ['a: "', '\\\\', '"'], service, MB),
  row('YAML: tabs', ['a:', '\t', 'b'], service, MB),
  row('YAML: question marks', ['', '? a\n', ''], service, MB),
  row('YAML: nested lists', ['', '- ', 'a'], service, MB),
  row('YAML: tags', ['a: [', '!a b,', '1]'], service, MB),
  row('YAML: directives', ['', '%A b\n', '---\na: 1'], service, MB),
  row('YAML: documents', ['a: 1\n', '---\n', ''], service, MB),
  row('YAML: anchors', ['a: [', '&a b,', '*a]'], service, DESCRIPTOR),
  row('YAML: aliases', ['a: &a b\nc: [', '*a,', '*a]'], service, DESCRIPTOR),
  row('YAML: merge keys', ['a: &a {b: c}\n', '<<: *a\n', ''], service, MB),
  row('YAML: aliases of a list in an endpoint', ['a: &a [1,1,1,1]\n/b: {post: {x: [', '*a,', '1]}}'], deployment, MB),
  {
    name: 'YAML: endpoints',
    worst: (size) =>
      Array.from(
        { length: Math.floor(size / 48) },
        (_, i) => `/e${1e6 + i}: {post: {engine: node, artifact: a.js}}\n`,
      ).join(''),
    parse: deployment,
    limit: DESCRIPTOR,
  },
  {
    name: 'YAML: paths',
    worst: (size) =>
      `paths:\n${Array.from({ length: Math.floor(size / 26) }, (_, i) => `  /e${1e6 + i}: {post: {a: b}}\n`).join('')}`,
    parse: service,
    limit: MB,
  },
  row('YAML: references', ['paths:\n  /a: {$ref: "#', '/a', '"}\n'], service, MB),

  // Manifests
  row('manifest: slashes', ['', '/', '@'], (text) => parseManifest([text]), MANIFEST_LIMITS.manifest),
  row('manifest: climbing', ['http://a', '/b/..', ''], (text) => parseManifest([text]), MANIFEST_LIMITS.manifest),
  row('manifest: its own address', ['http://a/', '/', 'b'], (text) =>
    parseManifest([{ '@id': 'a/b/c' }], new URL(text)),
  ),
  {
    name: 'manifest: entries',
    worst: (size) => 'a.zip\n'.repeat(size / 6),
    parse: (text) => parseManifest(text.split('\n'), new URL('http://a/b')),
    limit: MB,
  },

  row('manifest: brackets', ['[', '[],', '[]]'], parseManifestText, MANIFEST_LIMITS.manifest),

  // Runtimes
  row('EndpointSet.find', ['a', '/', 'b'], (text) => set.find(text)),
  row('a runtime registers', ['http://a', '/', 'b'], (url) => registry.register({ engine: 'node', url }, '')),
  row('a runtime registers: engine', ['a', '-', '!'], (engine) => registry.register({ engine, url: 'http://a' }, '')),
  row('a runtime activates: baseUrl', ['http://a', '/', 'b'], (baseUrl) => activated({ uri: 'a', baseUrl })),
  row('a runtime activates: uri', ['', '/', 'b'], (uri) => activated({ uri })),
  row('a runtime refuses', ['a', ' \n', 'b'], (description) => activated({ description }, 400)),
  row('a runtime fails', ['a', ' \n', 'b'], (description) => resultOf(failed({ description }))),
  row('a runtime fails without JSON', ['a', ' \n', 'b'], (text) => resultOf(failed(text))),

  // The node runtime
  row('parseUri', ['a', '/', 'b'], parseUri),
  row('isUri', ['a', '/', 'b'], (text) => isUri(text, 3)),
  row('parseArtifactPath', ['./', '/', 'b'], parseArtifactPath),
  row('parseDescriptor', ['http://a', '/proxy/artifacts/b', ''], (baseUrl) =>
    parseDescriptor({ uri: 'a/b/c/d', baseUrl, artifact: 'a.js' }, 'node'),
  ),
  row('isJson', ['a/', 'b+', 'json '], isJson),
  row('describe', ['a', ' \n', 'b'], (message) => describe({ message })),
  row('describe: what it requires', ['', '\nRequire stack:', 'b'], (message) => describe({ message })),
  row('describeLoad', ['a', '/root/', 'b'], (stack) => describeLoad(Object.assign(new Error('a'), { stack }), '/root')),

  // The commands
  row('placeOf', ['a ', 'b', ' '], (text) => placeOf(text, files)),
  row('worked examples', ['', '- a: b\n', ''], parseWorkedExamples, DESCRIPTOR),
];

for (const each of rows) test(`${each.name}: time grows as the text does`, () => assertLinear(each));
