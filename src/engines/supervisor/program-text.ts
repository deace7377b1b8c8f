/** The program of a sandbox as `start.js` takes it: its modules, without their types. */
import { randomUUID } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { digestOf } from '../../lib/text.ts';

interface Module {
  readonly url: string;
  readonly typescript: string;
}

/**
 * @param main `file:` URL of its first module, and those of others that no module imports.
 * @param folder where it is kept for the next start.
 */
export function programText(main: string | readonly string[], folder: string | undefined): string {
  const modules = withImports([main].flat());
  const file = folder === undefined ? undefined : join(folder, `program-${digestOf(JSON.stringify(modules))}.json`);
  const kept = file === undefined ? undefined : read(file);
  if (kept !== undefined) return kept;
  const text = withoutWarning(() =>
    JSON.stringify(modules.map(({ url, typescript }) => [url, stripTypeScriptTypes(typescript)])),
  );
  if (file !== undefined) keep(file, text);
  return text;
}

/** The module and all that it imports by a relative path, each once. An installed package has them without types already, as `.mjs`. */
function withImports(mains: readonly string[]): Module[] {
  const found = new Map<string, string>();
  const add = (url: string): void => {
    if (found.has(url)) return;
    const typescript = readFileSync(new URL(url), 'utf8');
    found.set(url, typescript);
    for (const [, path = ''] of typescript.matchAll(IMPORT)) add(new URL(path, url).href);
  };
  mains.forEach(add);
  return [...found].map(([url, typescript]) => ({ url, typescript }));
}

/** Node says once that this function of it may change; nobody who starts the service can do anything about that. */
function withoutWarning<T>(run: () => T): T {
  const emitWarning = Object.getOwnPropertyDescriptor(process, 'emitWarning') ?? {};
  process.emitWarning = () => undefined;
  try {
    return run();
  } finally {
    Object.defineProperty(process, 'emitWarning', emitWarning);
  }
}

const IMPORT = /^(?:import|export)\b(?! type\b)[^;]*? from '(\.[^']+\.(?:ts|mjs))';/gm;

function read(file: string): string | undefined {
  try {
    const text = readFileSync(file, 'utf8');
    JSON.parse(text);
    return text;
  } catch {
    return undefined;
  }
}

/** Where it cannot be, the next start makes it again. */
function keep(file: string, text: string): void {
  try {
    const whole = `${file}.${randomUUID()}`;
    writeFileSync(whole, text, { mode: 0o600 });
    renameSync(whole, file);
  } catch {
    // Read-only, or full.
  }
}
