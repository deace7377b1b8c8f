/** The checker of files for Kubernetes, in a virtual environment of its own that is made where it is missing. */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { PROJECT } from '../../acceptance/support/service.ts';

const VERSION = '1.37.0';

/** Its path. */
export function kubernetesValidate(): string {
  const folder = join(PROJECT, `.data/venv-kubernetes-validate-${VERSION}`);
  const program = join(folder, 'bin/kubernetes-validate');
  if (existsSync(program)) return program;
  process.stderr.write('making the virtual environment that checks the files for Kubernetes\n');
  const run = (command: string, ...args: string[]): void =>
    void execFileSync(command, args, { stdio: ['ignore', 2, 2] });
  run('python3', '-m', 'venv', '--clear', folder);
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check'];
  run(join(folder, 'bin/python'), ...pip, `kubernetes-validate==${VERSION}`);
  return program;
}
