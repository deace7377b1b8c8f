/** The files of deploy/kubernetes are what Kubernetes takes, and what this service takes. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { SETTINGS } from '../../src/config/settings.ts';
import { PROJECT } from '../acceptance/support/service.ts';
import { kubernetesValidate } from './support/kubernetes-validate.ts';

const FOLDER = join(PROJECT, 'deploy/kubernetes');
const KUSTOMIZATION = 'kustomization.yaml';
const files = readdirSync(FOLDER).filter((name) => name !== KUSTOMIZATION);
const read = (name: string): unknown => parse(readFileSync(join(FOLDER, name), 'utf8'));

interface Deployment {
  readonly spec: {
    readonly template: {
      readonly spec: {
        readonly terminationGracePeriodSeconds: number;
        readonly containers: readonly {
          readonly args: readonly string[];
          readonly env: readonly { readonly name: string }[];
          readonly lifecycle: { readonly preStop: { readonly exec: { readonly command: readonly string[] } } };
        }[];
      };
    };
  };
}

test('every file is valid by the schemas of Kubernetes, with no property that it does not know', () => {
  const paths = files.map((name) => join(FOLDER, name));
  const { status, stdout, stderr } = spawnSync(kubernetesValidate(), ['--strict', ...paths], { encoding: 'utf8' });
  assert.equal(status, 0, `${stdout}${stderr}`);
});

test('the kustomization names every file', () => {
  const { resources } = read(KUSTOMIZATION) as { resources: string[] };
  assert.deepEqual(resources.toSorted(), files.toSorted());
});

test('what the deployment sets are settings of the service, and it is given time to drain', () => {
  const { terminationGracePeriodSeconds: time, containers } = (read('deployment.yaml') as Deployment).spec.template
    .spec;
  const [container] = containers;
  assert.ok(container !== undefined);
  const options = container.args.filter((arg) => arg.startsWith('--')).map((arg) => arg.slice(2));
  const unknown = options.filter((option) => !SETTINGS.some((each) => each.option === option));
  assert.deepEqual(unknown, []);
  assert.deepEqual(
    container.env.filter(({ name }) => !SETTINGS.some(({ env }) => env === name)),
    [],
  );
  const seconds = (option: string): number => Number.parseInt(container.args[container.args.indexOf(option) + 1] ?? '');
  const before = Number(container.lifecycle.preStop.exec.command.at(-1));
  assert.ok(before + seconds('--drain') + seconds('--shutdown-grace') + 5 <= time, `${time} s are too few`);
});
