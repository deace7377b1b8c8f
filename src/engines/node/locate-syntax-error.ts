/** Node gives the line of a syntax error in CommonJS only; here ES modules are parsed once more to learn it. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const maxFiles = 50;

/**
 * @param root folder of the knowledge object.
 * @param description what the worker says, `SyntaxError: …`.
 * @returns the description with the place, `… (src/a.mjs line 3)`, where one of the modules has this very error.
 */
export async function locateSyntaxError(
  root: string,
  modules: readonly string[],
  description: string,
): Promise<string> {
  if (!description.startsWith('SyntaxError: ') || / line \d+\)$/.test(description)) return description;
  for (const module of modules.filter((path) => /\.m?js$/.test(path)).slice(0, maxFiles)) {
    const file = join(root, module);
    // Parses and runs nothing.
    const output = await run(process.execPath, ['--check', file], { env: {}, timeout: 5_000 }).then(
      () => '',
      (error: unknown) => String((error as { stderr?: unknown }).stderr),
    );
    const place = output.split('\n').find((text) => text.includes(`${file}:`));
    const line = /:(\d+)$/.exec(place ?? '')?.[1];
    if (line && output.includes(description)) return `${description} (${module} line ${line})`;
  }
  return description;
}
