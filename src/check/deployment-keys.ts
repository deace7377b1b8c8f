/** Keys of a deployment descriptor that nobody reads. */
import { parseHostPort, STANDARD_PORT } from '../lib/host-port.ts';
import { didYouMean, wordLike } from '../lib/did-you-mean.ts';
import { ENGINES } from './engines.ts';
import { fieldsOf, isObject } from '../lib/fields.ts';
import type { Fields } from '../lib/fields.ts';
import { warning } from './findings.ts';
import type { Finding } from './findings.ts';
import { readPlaced } from './yaml-place.ts';

/** In the order of `docs/authoring.md`. */
const KEYS = ['engine', 'artifact', 'entry', 'function', 'isolation', 'timeout', 'validate', 'network'] as const;
const METHODS = ['post', 'get'] as const;
const BESIDE_METHODS = ['summary', 'description'];
const OTHER_METHODS = new Set(['put', 'patch', 'delete', 'head', 'options', 'trace']);

export function unknownDeploymentKeys(text: string, file: string): Finding[] {
  const placed = readPlaced(text, file);
  if (placed === undefined) return [];
  const found: Finding[] = [];
  const warn = (path: readonly string[], message: string): unknown =>
    found.push(warning(file, placed.lineOf(path), message));

  function ofEntry(path: readonly string[], entry: Fields): void {
    const engine = engineOf(entry);
    if (entry['network'] !== undefined && ENGINES.has(engine))
      for (const message of networkWarnings(entry['network'], engine)) warn([...path, 'network'], message);
    if (entry['validate'] !== undefined && path.at(-1)?.toLowerCase() === 'get')
      warn([...path, 'validate'], 'validate is for endpoints that are called with an input, by post: take it out');
    for (const key of Object.keys(entry)) {
      if (isOwn(key, KEYS)) continue;
      const meant = wordLike(key, KEYS);
      // A runtime of others is given all keys, and may know more.
      if (meant === undefined && !ENGINES.has(engine)) continue;
      warn(
        [...path, key],
        `"${key}" is no key of an endpoint${meant === undefined ? `; the keys are ${KEYS.join(', ')}: correct it or take it out` : `: did you mean ${meant}?`}`,
      );
    }
  }

  function ofPath(path: readonly string[], item: Fields, methodIsNeeded: boolean): void {
    const methods = Object.keys(item).filter((key) => isMethod(key));
    if (methods.length === 0 && !methodIsNeeded) return ofEntry(path, item);
    for (const [key, value] of Object.entries(item)) {
      if (methods.includes(key)) ofEntry([...path, key], fieldsOf(value));
      else if (isOwn(key, BESIDE_METHODS)) continue;
      else if (!isObject(value))
        warn([...path, key], `"${key}" stands beside the methods, where nothing reads it: put it below one of them`);
      else
        warn(
          [...path, key],
          `"${key}" is no method${didYouMean(key, METHODS) || ': put post: for code or get: for a resource'}`,
        );
    }
  }

  for (const [key, value] of Object.entries(fieldsOf(placed.value))) {
    const item = fieldsOf(value);
    if (key === 'endpoints')
      for (const [path, each] of Object.entries(item)) ofPath([key, path], fieldsOf(each), false);
    else if (key.startsWith('/') || Object.entries(item).some(([name, each]) => isMethod(name) && isObject(each)))
      ofPath([key], item, true);
    else if (wordLike(key, ['endpoints']) !== undefined) warn([key], `"${key}" is not read: did you mean endpoints?`);
    else if (Object.keys(item).some((name) => wordLike(name, [...METHODS, ...KEYS]) !== undefined))
      warn([key], `"${key}" is no path of an endpoint, so nothing reads it: write /${key} and post: or get: below it`);
  }
  return found;
}

const isMethod = (key: string): boolean =>
  (METHODS as readonly string[]).includes(key.toLowerCase()) || OTHER_METHODS.has(key.toLowerCase());

const isOwn = (key: string, known: readonly string[]): boolean =>
  key.startsWith('x-') || key === '<<' || known.includes(key);

function engineOf({ engine }: Fields): string {
  const name = typeof engine === 'string' ? engine : fieldsOf(engine)['name'];
  return typeof name === 'string' ? name.trim().toLowerCase() : '';
}

/** What is wrong with the hosts that an endpoint asks for. */
function networkWarnings(network: unknown, engine: string): string[] {
  if (engine === 'javascript' || engine === 'resource')
    return [`network is asked for, which the engine ${engine} has none of: use the engine node or python for that`];
  return (Array.isArray(network) ? network : [network])
    .filter((each) => typeof each !== 'string' || parseHostPort(each, STANDARD_PORT) === undefined)
    .map(
      (each) =>
        `${JSON.stringify(each)} in network is no host: write "network: api.example.org:443", or a list of such, without a scheme and a path`,
    );
}
