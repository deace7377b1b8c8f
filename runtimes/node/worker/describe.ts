/** What a caller and the log hear of a thrown value: one line, and where in the knowledge object it was thrown. */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { CodePlace } from '../../../src/lib/code-place.ts';
import type { Failure } from '../../../src/engines/supervisor/messages.ts';

const maxDescriptionCharacters = 2000;
const maxStackCharacters = 16_000;

/** `TypeError: x is not a function`. */
export function describe(thrown: unknown): string {
  try {
    const { name, message } = (thrown ?? {}) as { name?: unknown; message?: unknown };
    const text =
      typeof message === 'string' ? `${typeof name === 'string' && name ? name : 'Error'}: ${message}` : plain(thrown);
    return oneLine(text + causeOf(thrown));
  } catch {
    return 'Error: the thrown value cannot be read';
  }
}

const maxCauses = 5;

/** Node's `fetch` says only that it failed; why stands at the end of its causes, of several addresses that of the first. */
function causeOf(thrown: unknown): string {
  let last = thrown;
  for (let depth = 0; depth < maxCauses && last instanceof Error; depth++) {
    const errors: unknown[] = last instanceof AggregateError ? last.errors : [];
    const next = last.cause ?? errors[0];
    if (!(next instanceof Error)) break;
    last = next;
  }
  const why = last instanceof Error && last !== thrown ? last.message : '';
  return why === '' || String((thrown as Error).message).includes(why) ? '' : `: ${why}`;
}

/**
 * @param root folder of the knowledge object.
 * @param nested whether the value came out of a call of another endpoint, and thus says nothing of this one's input.
 */
export function failureOf(thrown: unknown, root: string, nested: boolean): Failure {
  const status = nested ? undefined : statusOfInvalidInput(thrown);
  if (status !== undefined) return { description: messageOf(thrown), status };
  const place = placeOf(thrown, root);
  const description = describe(thrown) + missingPackage(thrown, root);
  return place ? { description, place } : { description };
}

/** The same for a module that did not load, with the place as part of the text: `… (src/a.js line 3)`. */
export function describeLoad(thrown: unknown, root: string): string {
  const { description, place } = failureOf(thrown, root, true);
  return place ? `${description} (${place.file} line ${place.line})` : description;
}

/** "An error with `name: 'InvalidInputError'` and `status` 400 or 422." A bare `status` is what HTTP libraries set. */
function statusOfInvalidInput(thrown: unknown): 400 | 422 | undefined {
  try {
    const { name, status } = (thrown ?? {}) as { name?: unknown; status?: unknown };
    return name === 'InvalidInputError' && (status === 400 || status === 422) ? status : undefined;
  } catch {
    return undefined;
  }
}

function messageOf(thrown: unknown): string {
  try {
    const { message } = thrown as { message?: unknown };
    return typeof message === 'string' && message !== '' ? oneLine(message) : 'the input is invalid';
  } catch {
    return 'the input is invalid';
  }
}

function plain(thrown: unknown): string {
  return typeof thrown === 'object' && thrown !== null
    ? `Error: ${JSON.stringify(thrown)}`
    : `Error: ${String(thrown)}`;
}

function oneLine(text: string): string {
  const [said = ''] = text.slice(0, 2 * maxDescriptionCharacters).split('\nRequire stack:', 1);
  return said
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join(' ')
    .slice(0, maxDescriptionCharacters)
    .toWellFormed();
}

/** The innermost frame that is code of the knowledge object, and none of a package that it brings along. */
function placeOf(thrown: unknown, root: string): CodePlace | undefined {
  const stack = stackOf(thrown);
  const frames = stack.indexOf('\n    at ');
  const [first = '', ...lines] = stack.split('\n');
  // Node puts the place of a syntax error before everything else.
  const places = first.startsWith(`${root}/`) ? [first] : frames < 0 ? [] : lines;
  for (const line of places) {
    if (line === first || line.startsWith('    at ')) {
      const place = placeIn(line, `${root}/`) ?? placeIn(line, `${pathToFileURL(root).href}/`);
      if (place) return place;
    }
  }
  return undefined;
}

function placeIn(line: string, root: string): CodePlace | undefined {
  const at = line.indexOf(root);
  const [, file, number] = at < 0 ? [] : (/^([^:]{1,300}):(\d{1,9})/.exec(line.slice(at + root.length)) ?? []);
  if (file === undefined || file.split('/').includes('node_modules')) return undefined;
  const isUrl = root.startsWith('file:') || line.slice(0, at).endsWith('file://');
  return { file: isUrl ? decoded(file) : file, line: Number(number) };
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

function stackOf(thrown: unknown): string {
  try {
    const stack: unknown = thrown instanceof Error ? thrown.stack : undefined;
    return typeof stack === 'string' ? stack.slice(0, maxStackCharacters) : '';
  } catch {
    return '';
  }
}

/** What to do where a package is not there. */
function missingPackage(thrown: unknown, root: string): string {
  try {
    const { code, message } = thrown as { code?: unknown; message?: unknown };
    if (code !== 'MODULE_NOT_FOUND' && code !== 'ERR_MODULE_NOT_FOUND') return '';
    const wanted = /^Cannot find (?:module|package) '([^']{1,214})'/.exec(String(message))?.[1] ?? '';
    const [first = '', second = ''] = wanted.split('/');
    const name = first.startsWith('@') ? `${first}/${second}` : first;
    if (!/^(@[\w.~-]+\/)?[\w~-][\w.~-]*$/.test(name) || isInstalled(name, root)) return '';
    return `: the package ${name} is not installed; add it to the dependencies of a package.json among the artifacts`;
  } catch {
    return '';
  }
}

function isInstalled(name: string, root: string): boolean {
  const folders = createRequire(join(root, 'index.js')).resolve.paths(name) ?? [];
  return folders.some((folder) => {
    try {
      return existsSync(join(folder, name));
    } catch {
      // Above the knowledge object, where it may not look.
      return false;
    }
  });
}
