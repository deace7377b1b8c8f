/** The files of deploy/kubernetes are what Kubernetes takes, and what this service takes. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { toProxyTrust } from '../../src/config/proxy-trust.ts';
import { SETTINGS } from '../../src/config/settings.ts';
import { PROJECT } from '../acceptance/support/service.ts';
import { kubernetesValidate } from './support/kubernetes-validate.ts';

const FOLDER = join(PROJECT, 'deploy/kubernetes');
const KUSTOMIZATION = 'kustomization.yaml';
/** Applied by hand, once. */
const SECRET = 'secret.yaml';
/** Of a kind that the Prometheus operator brings. */
const MONITOR = 'optional/service-monitor.yaml';
const files = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).filter(
  (name) => name.endsWith('.yaml') && name !== KUSTOMIZATION,
);
const text = (name: string): string => readFileSync(join(FOLDER, name), 'utf8');
const read = (name: string): unknown => parse(text(name));

interface Deployment {
  readonly spec: {
    readonly replicas?: number;
    readonly template: {
      readonly spec: {
        readonly terminationGracePeriodSeconds: number;
        readonly containers: readonly {
          readonly args: readonly string[];
          readonly env: readonly {
            readonly name: string;
            readonly valueFrom?: { readonly secretKeyRef: { readonly key: string } };
          }[];
          readonly resources: { readonly limits: Readonly<Record<string, string>> };
          readonly lifecycle: { readonly preStop: { readonly exec: { readonly command: readonly string[] } } };
        }[];
        readonly volumes: readonly {
          readonly emptyDir?: { readonly sizeLimit: string };
          readonly secret?: { readonly secretName: string; readonly items: readonly { readonly key: string }[] };
        }[];
      };
    };
  };
}
const { replicas, template } = (read('deployment.yaml') as Deployment).spec;
const { terminationGracePeriodSeconds: time, containers, volumes } = template.spec;
const [container] = containers;
assert.ok(container !== undefined);
const { args, env, resources, lifecycle } = container;

interface SecretKey {
  readonly name: string;
  readonly key: string;
}
const { spec: monitor } = read(MONITOR) as {
  spec: {
    selector: { matchLabels: object };
    endpoints: [{ port: string; path: string; basicAuth: { username: SecretKey; password: SecretKey } }];
  };
};

test('every file is valid by the schemas of Kubernetes, with no property that it does not know', () => {
  const paths = files.filter((name) => name !== MONITOR).map((name) => join(FOLDER, name));
  const { status, stdout, stderr } = spawnSync(kubernetesValidate(), ['--strict', ...paths], { encoding: 'utf8' });
  assert.equal(status, 0, `${stdout}${stderr}`);
});

test('the kustomization names every file, those that are optional in comments, and never the secret', () => {
  const { resources: named } = read(KUSTOMIZATION) as { resources: string[] };
  const optional = [...text(KUSTOMIZATION).matchAll(/^ {2}# - (\S+)$/gm)].map(([, name = '']) => name);
  assert.deepEqual([...named, ...optional, SECRET].sort(), files.toSorted());
  assert.ok(optional.every((name) => name.startsWith('optional/')));
});

test('what the deployment sets are settings of the service with values that it takes, and it is given time to drain', () => {
  const options = args.filter((arg) => arg.startsWith('--')).map((arg) => arg.slice(2));
  const unknown = options.filter((option) => !SETTINGS.some((each) => each.option === option));
  assert.deepEqual(unknown, []);
  assert.deepEqual(
    env.filter(({ name }) => !SETTINGS.some((each) => each.env === name)),
    [],
  );
  const valueOf = (option: string): string => args[args.indexOf(option) + 1] ?? '';
  assert.equal(valueOf('--walls'), 'require');
  const trust = toProxyTrust(valueOf('--trust-proxy'), '--trust-proxy');
  assert.ok(trust !== undefined && trust.networks.length > 0, 'the proxies are named by their network');
  const seconds = (option: string): number => Number.parseInt(valueOf(option));
  const before = Number(lifecycle.preStop.exec.command.at(-1));
  assert.ok(before + seconds('--drain') + seconds('--shutdown-grace') + 5 <= time, `${time} s are too few`);
});

test('the autoscaler alone decides how many nodes there are', () => {
  const { scaleTargetRef, minReplicas } = (
    read('autoscaler.yaml') as { spec: { scaleTargetRef: { name: string }; minReplicas: number } }
  ).spec;
  assert.equal(scaleTargetRef.name, 'kgrid-activator');
  assert.ok(minReplicas >= 2);
  assert.equal(replicas, undefined);
});

test('a node has limits, and space for what its folders may take', () => {
  const gigabytes = (quantity = ''): number => Number(/^(\d+)Gi$/.exec(quantity)?.[1]);
  const { cpu, memory, 'ephemeral-storage': storage } = resources.limits;
  assert.ok(Number(cpu) > 0 && gigabytes(memory) > 0);
  const folders = volumes.flatMap(({ emptyDir }) => (emptyDir === undefined ? [] : [gigabytes(emptyDir.sizeLimit)]));
  assert.ok(folders.length === 2 && gigabytes(storage) > folders.reduce((sum, each) => sum + each, 0));
});

test('the secret has what the deployment and the monitor read of it', () => {
  const { metadata, stringData } = read(SECRET) as { metadata: { name: string }; stringData: Record<string, string> };
  const needed = [
    ...volumes.flatMap(({ secret }) => secret?.items.map(({ key }) => key) ?? []),
    ...env.flatMap(({ valueFrom }) => (valueFrom === undefined ? [] : [valueFrom.secretKeyRef.key])),
  ];
  assert.deepEqual(Object.keys(stringData).sort(), [...new Set(needed)].sort());
  const { basicAuth } = monitor.endpoints[0];
  for (const { name, key } of [basicAuth.username, basicAuth.password])
    assert.ok(name === metadata.name && key in stringData, key);
});

test('the monitor asks the port of the service, under the path of the metrics', () => {
  const service = read('service.yaml') as {
    metadata: { labels: object };
    spec: { ports: { name: string; targetPort: string }[] };
  };
  const { selector, endpoints } = monitor;
  assert.deepEqual(selector.matchLabels, service.metadata.labels);
  assert.deepEqual(
    endpoints.map(({ port }) => port),
    service.spec.ports.map(({ name }) => name),
  );
  const { paths } = parse(readFileSync(join(PROJECT, 'openapi/service.yaml'), 'utf8')) as { paths: object };
  assert.ok(endpoints[0].path in paths);
});

test('rules for the network are by name, so that one does not replace another', () => {
  const policies = files.map(read).filter((each) => (each as { kind: string }).kind === 'NetworkPolicy') as {
    metadata: { name: string };
    spec: { ingress?: { from?: object[] }[] };
  }[];
  assert.ok(policies.length > 4);
  assert.equal(new Set(policies.map(({ metadata }) => metadata.name)).size, policies.length);
  for (const { metadata, spec } of policies)
    for (const { from } of spec.ingress ?? []) assert.ok(from !== undefined, `${metadata.name} lets everybody in`);
});
