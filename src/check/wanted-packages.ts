/** Whose code cannot be tried before packages of others are installed. */
import { basename } from 'node:path/posix';
import { fieldsOf } from '../lib/json.ts';
import { readSource } from './ko-source.ts';
import type { KoSource } from './ko-source.ts';

const PYTHON_PROJECT = /^(?:pyproject\.toml|setup\.(?:py|cfg))$/;

export async function enginesWithPackages(source: KoSource): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  if (source.damage !== undefined) return found;
  for (const [path, { size }] of source.files) {
    const name = basename(path);
    if (PYTHON_PROJECT.test(name) || (name === 'requirements.txt' && size > 0)) found.add('python');
    if (name === 'package.json' && asksForPackages(await readSource(source, path))) found.add('node');
  }
  return found;
}

function asksForPackages(content: Buffer): boolean {
  try {
    const { dependencies, optionalDependencies } = fieldsOf(JSON.parse(content.toString()));
    return Object.keys({ ...fieldsOf(dependencies), ...fieldsOf(optionalDependencies) }).length > 0;
  } catch {
    // What is no JSON is told when the code is activated.
    return false;
  }
}
