import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deployedServices } from './deployed-services.ts';
import { readMetadata } from './metadata.ts';

const SPEC = 'https://kgrid.org/specs/activationSpec.html#object';

/** What is found in a package with these files, as `<service> <deployment> in <folder>`, with the number of the service. */
function found(
  fields: Readonly<Record<string, unknown>>,
  ...files: string[]
): { services: string[]; problems: string[] } {
  const { readable, problems } = readMetadata(JSON.stringify({ '@id': 'bmi', 'koio:kgrid': '2', ...fields }));
  assert.deepEqual(problems, []);
  assert.ok(readable !== undefined);
  const { services, problems: ofFiles } = deployedServices(readable, new Map(files.map((path) => [path, path])));
  return {
    services: services.map((each) => `${each.of}: ${each.service} ${each.deployment} in ${each.folder || '.'}`),
    problems: ofFiles.map(({ message }) => message),
  };
}

const implementation = (id: unknown, language = 'Python'): unknown => ({ '@id': id, '@type': [SPEC, language] });
const service = (implementedBy: unknown, more: Readonly<Record<string, unknown>> = {}): unknown => ({
  '@type': 'API',
  implementedBy,
  ...more,
});
const ROOT = ['service.yaml', 'deployment.yaml'];
const AT_ROOT = '0: service.yaml deployment.yaml in .';

const layouts: [what: string, fields: Record<string, unknown>, files: string[], services: string[]][] = [
  ['nothing', {}, [], []],
  ['a service descriptor alone', {}, ['service.yaml'], []],
  ['descriptors at the root that nothing names', {}, ROOT, [AT_ROOT]],
  [
    'the fields of the first generation',
    { hasServiceSpecification: 'a.yaml', hasDeploymentSpecification: 'b/c.yaml' },
    ['a.yaml', 'b/c.yaml', ...ROOT],
    ['0: a.yaml b/c.yaml in .'],
  ],
  [
    'these with a prefix',
    { 'koio:hasServiceSpecification': './a.yaml', 'koio:hasDeploymentSpecification': { '@id': 'b.yaml' } },
    ['a.yaml', 'b.yaml'],
    ['0: a.yaml b.yaml in .'],
  ],
  [
    'only the service descriptor named',
    { hasServiceSpecification: 'a.yaml' },
    ['a.yaml', ...ROOT],
    ['0: a.yaml deployment.yaml in .'],
  ],
  [
    'only the deployment descriptor named',
    { hasDeploymentSpecification: 'b.yaml' },
    ['b.yaml', ...ROOT],
    ['0: service.yaml b.yaml in .'],
  ],
  [
    'descriptors at the root whose names end with yml',
    {},
    ['service.yml', 'deployment.yml'],
    ['0: service.yml deployment.yml in .'],
  ],
  [
    'the same in a folder',
    { hasService: service(implementation('a/')) },
    ['a/service.yml', 'a/deployment.yml'],
    ['0: a/service.yml a/deployment.yml in a'],
  ],
  ['both endings: yaml wins', {}, [...ROOT, 'service.yml', 'deployment.yml'], [AT_ROOT]],
  ['an implementation at the root', { 'koio:hasService': service(implementation('.')) }, ROOT, [AT_ROOT]],
  ['… without a folder', { hasService: [service({ '@type': SPEC })] }, ROOT, [AT_ROOT]],
  ['… as a blank node', { hasService: [service(implementation('_:deno'))] }, ROOT, [AT_ROOT]],
  ['… as a URL', { hasService: [service(implementation('https://example.org/src'))] }, ROOT, [AT_ROOT]],
  [
    '… in a folder',
    { hasService: service(implementation('aaa')) },
    ['service.yaml', 'aaa/deployment.yaml'],
    ['0: service.yaml aaa/deployment.yaml in aaa'],
  ],
  [
    '… in a folder below',
    { hasService: service(implementation('./bmi/deno/')) },
    ['service.yaml', 'bmi/deno/deployment.yaml'],
    ['0: service.yaml bmi/deno/deployment.yaml in bmi/deno'],
  ],
  [
    'a package folder, with the descriptor in it and beside it',
    { hasService: service(implementation('aaa/')) },
    ['service.yaml', 'aaa/deployment.yaml', 'deployment.yaml'],
    ['0: service.yaml aaa/deployment.yaml in aaa'],
  ],
  [
    'a package folder, with the descriptor beside it',
    { hasService: service(implementation('svc/aaa/')) },
    ['service.yaml', 'svc/aaa/x.py', 'svc/deployment.yaml'],
    ['0: service.yaml svc/deployment.yaml in svc'],
  ],
  ['a package folder at the root', { hasService: service(implementation('aaa/')) }, ['aaa/x.py', ...ROOT], [AT_ROOT]],
  [
    'a folder below without a descriptor near it',
    { hasService: service(implementation('a/b/c')) },
    ['a/b/c/x.py', ...ROOT],
    [AT_ROOT],
  ],
  ['a folder without any descriptor', { hasService: service(implementation('a')) }, ['a/x.py', 'service.yaml'], []],
  [
    'a service descriptor of its own',
    { hasService: service(implementation('a'), { 'koio:hasServiceSpecification': './a/api.yaml' }) },
    ['a/api.yaml', 'a/deployment.yaml'],
    ['0: a/api.yaml a/deployment.yaml in a'],
  ],
  [
    'a service descriptor beside the deployment',
    { hasService: service(implementation('a')) },
    ['a/service.yaml', 'a/deployment.yaml'],
    ['0: a/service.yaml a/deployment.yaml in a'],
  ],
  [
    'the first generation wins over the service',
    {
      hasServiceSpecification: 'a.yaml',
      hasService: service(implementation('.'), { hasServiceSpecification: 'b.yaml' }),
    },
    ['a.yaml', 'b.yaml', ...ROOT],
    ['0: a.yaml deployment.yaml in .'],
  ],
  [
    'the deployment is named, the service descriptor of the service',
    {
      hasDeploymentSpecification: 'd.yaml',
      hasService: service(implementation('.'), { hasServiceSpecification: 'b.yaml' }),
    },
    ['d.yaml', 'b.yaml', ...ROOT],
    ['0: b.yaml d.yaml in .'],
  ],
  [
    'two implementations',
    { hasService: service([implementation('s/py/'), implementation('s/deno', 'javascript')]) },
    ['service.yaml', 's/py/deployment.yaml', 's/deno/deployment.yaml'],
    ['0: service.yaml s/py/deployment.yaml in s/py', '0: service.yaml s/deno/deployment.yaml in s/deno'],
  ],
  [
    'two implementations with one deployment',
    { hasService: service([implementation('py/'), implementation('deno')]) },
    ['py/x.py', 'deno/x.js', ...ROOT],
    [AT_ROOT],
  ],
  [
    'two services',
    {
      hasService: [service(implementation('a')), service(implementation('b'), { hasServiceSpecification: 'b/s.yaml' })],
    },
    ['service.yaml', 'a/deployment.yaml', 'b/deployment.yaml', 'b/s.yaml'],
    ['0: service.yaml a/deployment.yaml in a', '1: b/s.yaml b/deployment.yaml in b'],
  ],
  [
    'a plain path',
    { hasService: service('a/') },
    ['service.yaml', 'a/deployment.yaml'],
    ['0: service.yaml a/deployment.yaml in a'],
  ],
  [
    'a list of plain paths, one of another program',
    { hasService: service(['gone', 'a']) },
    ['service.yaml', 'a/deployment.yaml'],
    ['0: service.yaml a/deployment.yaml in a'],
  ],
  [
    'no implementation',
    { hasService: service(undefined, { hasServiceSpecification: 'api.yaml' }) },
    ['api.yaml', 'deployment.yaml'],
    ['0: api.yaml deployment.yaml in .'],
  ],
  [
    'types in a list, with a prefix or an address',
    {
      hasService: {
        '@type': ['koio:Service', 'x'],
        'koio:implementedBy': [{ '@id': 'a', '@type': 'specs:activationSpec.html#object' }],
      },
    },
    ['service.yaml', 'a/deployment.yaml'],
    ['0: service.yaml a/deployment.yaml in a'],
  ],
  [
    'services of other programs',
    {
      hasService: [
        { '@type': 'cli', implementedBy: { '@id': 'cli/', '@type': 'Python' }, hasServiceSpecification: 'none.md' },
        { '@type': 'Web Service', implementedBy: 'web' },
        'library',
      ],
    },
    [],
    [],
  ],
  [
    '… beside descriptors at the root',
    { hasService: [{ '@type': 'cli', implementedBy: { '@id': 'cli/', '@type': 'Python' } }] },
    ['cli/x.py', ...ROOT],
    [AT_ROOT],
  ],
  [
    'a file in the place of the folder',
    { hasService: service(implementation('deno/main.ts', 'JavaScript')) },
    ['deno/main.ts', 'deno/deployment.yaml', 'service.yaml'],
    ['0: service.yaml deno/deployment.yaml in deno'],
  ],
];
for (const [what, fields, files, services] of layouts) {
  test(what, () => {
    assert.deepEqual(found(fields, ...files), { services, problems: [] });
  });
}

const refused: [what: string, fields: Record<string, unknown>, files: string[], problem: RegExp][] = [
  [
    'a folder that is not there',
    { hasService: service(implementation('gone/')) },
    ROOT,
    /^the folder gone of a service in metadata\.json is not in the package: add it/,
  ],
  [
    'a folder outside',
    { 'koio:hasService': service(implementation('../x')) },
    ROOT,
    /^the folder \.\.\/x of a service/,
  ],
  [
    'a service descriptor that is not there',
    { hasService: service(implementation('.'), { hasServiceSpecification: 'x.yaml' }) },
    ROOT,
    /^x\.yaml, named by hasService in metadata\.json, is not in the package/,
  ],
  [
    'the same, where nothing says for what it is',
    { hasService: service(undefined, { hasServiceSpecification: 'x.yaml' }) },
    ROOT,
    /^x\.yaml, named by hasService in metadata\.json, is not in the package/,
  ],
  [
    'a named service descriptor that is not there',
    { 'koio:hasServiceSpecification': 'x.yaml' },
    [],
    /^x\.yaml, named by koio:hasServiceSpecification in metadata\.json, is not/,
  ],
  [
    'a named deployment that is not there',
    { hasDeploymentSpecification: 'x.yaml' },
    ROOT,
    /^x\.yaml, named by hasDeploymentSpecification in metadata\.json, is not/,
  ],
  [
    'a deployment without a service descriptor',
    {},
    ['deployment.yaml'],
    /^deployment\.yaml deploys endpoints, but the package has no service\.yaml: add it/,
  ],
];
for (const [what, fields, files, problem] of refused) {
  test(`refused: ${what}`, () => {
    const { problems } = found(fields, ...files);
    assert.match(problems[0] ?? '', problem);
    assert.equal(problems.length, 1, problems.join());
  });
}

test('thousands of services cost no more than what they say', () => {
  const many = Array.from({ length: 10_000 }, (_, i) => service(implementation(`f${i}`)));
  const files = Array.from({ length: 5000 }, (_, i) => `f${i}/x.py`);
  const began = process.cpuUsage();
  assert.match(found({ hasService: many }, ...files, ...ROOT).problems[0] ?? '', /more than 100/);
  assert.ok(process.cpuUsage(began).user < 1_000_000);
});
