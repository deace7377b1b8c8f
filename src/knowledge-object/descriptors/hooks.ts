/** `cds-hooks.yaml`: the CDS services (CDS Hooks 2.0) that a knowledge object offers. */
import { importRefused } from '../../lib/errors.ts';
import { escapeForMessage } from '../../lib/text.ts';
import { withoutDot } from '../package-path.ts';
import { endpointPath } from './deployment.ts';
import { readYamlTree, type YamlMap, type YamlNode, type YamlTree } from './yaml-tree.ts';

export const HOOKS_FILE = 'cds-hooks.yaml';

/** One CDS service, as the file says. */
export interface HookService {
  /** Tells several services of a knowledge object apart; empty for the only one. */
  readonly id: string;
  /** Such as `patient-view`. */
  readonly hook: string;
  readonly title: string | undefined;
  readonly description: string | undefined;
  readonly usageRequirements: string | undefined;
  /** FHIR queries by key, with `{{context.…}}` in them. */
  readonly prefetch: Readonly<Record<string, string>>;
  /** Keys of `prefetch` without which there is nothing to say. */
  readonly needs: readonly string[];
  /** Path as in the deployment descriptor, with a leading slash. */
  readonly endpoint: string;
  /** The script that holds the two functions. */
  readonly code: string;
  /** Makes the input of the endpoint from `{hook, context, prefetch}`; null: there is nothing to say. */
  readonly input: string;
  /** Makes the cards from `{result, input, hook, context, prefetch}`. */
  readonly cards: string;
  /** Milliseconds in which an answer is given; undefined: the default. */
  readonly deadline: number | undefined;
  /** From 1. */
  readonly line: number;
}

const KEYS = new Set([
  'id',
  'hook',
  'title',
  'description',
  'usageRequirements',
  'prefetch',
  'needs',
  'endpoint',
  'code',
  'input',
  'cards',
  'deadline',
]);
const MOST_SERVICES = 50;
const MOST_PREFETCH = 50;
const MOST_DEADLINE_MS = 30_000;

/** @throws importRefused with the file and the line of the first mistake. */
export function parseHooks(source: string, file = HOOKS_FILE): readonly HookService[] {
  const tree = readYamlTree(source, file);
  const several = tree.root.get('services');
  if (several === undefined) return [readService(tree, tree.root, 1)];
  const items = tree.list(several.node);
  if (items === undefined || items.length === 0) throw wrong(file, several.line, 'services must be a list of services');
  if (items.length > MOST_SERVICES) throw wrong(file, several.line, `has more than ${MOST_SERVICES} services`);
  const services = items.map((item) => {
    const fields = tree.map(item);
    if (fields === undefined) throw wrong(file, several.line, 'a service must be a map that begins with "hook: …"');
    return readService(tree, fields, [...fields.values()][0]?.line ?? several.line);
  });
  const ids = new Set<string>();
  for (const { id, line } of services) {
    if (ids.has(id)) throw wrong(file, line, `two services have the id "${id}": give each an id of its own`);
    ids.add(id);
  }
  return services;
}

function readService(tree: YamlTree, fields: YamlMap, line: number): HookService {
  const { file } = tree;
  const fail = (key: string, message: string): never => {
    throw wrong(file, fields.get(key)?.line ?? line, message);
  };
  for (const key of fields.keys())
    if (!KEYS.has(key))
      fail(key, `${escapeForMessage(key)} is no key of a service; the keys are ${[...KEYS].join(', ')}`);
  const text = (key: string): string | undefined => {
    const entry = fields.get(key);
    if (entry === undefined) return undefined;
    const value = tree.value(entry.node);
    return typeof value === 'string' && value.trim() !== '' ? value.trim() : fail(key, `${key} must be text`);
  };
  const required = (key: string, what: string): string => text(key) ?? fail(key, `a service needs ${key}: ${what}`);
  const id = text('id') ?? '';
  if (!/^[A-Za-z0-9.-]{0,64}$/.test(id)) fail('id', 'id must be at most 64 letters, digits, periods and hyphens');
  const hook = required('hook', 'such as patient-view, order-select or order-sign');
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(hook))
    fail('hook', 'hook must be the name of a hook such as patient-view');
  const prefetch = readPrefetch(tree, fields.get('prefetch')?.node, fail);
  const needs = readNeeds(tree, fields.get('needs')?.node, prefetch, fail);
  return {
    id,
    hook,
    title: text('title'),
    description: text('description'),
    usageRequirements: text('usageRequirements'),
    prefetch,
    needs,
    endpoint: endpointPath(required('endpoint', 'the path of an endpoint as in the deployment descriptor')),
    code: withoutDot(required('code', 'the script that holds the functions input and cards')),
    input: required('input', 'the function that makes the input of the endpoint from the prefetched data'),
    cards: required('cards', 'the function that makes cards from the result'),
    deadline: deadlineOf(text('deadline'), fail),
    line,
  };
}

type Fail = (key: string, message: string) => never;

function readPrefetch(tree: YamlTree, node: YamlNode, fail: Fail): Record<string, string> {
  if (node === undefined) return {};
  const map = tree.map(node);
  if (map === undefined) return fail('prefetch', 'prefetch must be a map from keys to FHIR queries');
  if (map.size > MOST_PREFETCH) return fail('prefetch', `prefetch has more than ${MOST_PREFETCH} keys`);
  const queries: Record<string, string> = Object.create(null) as Record<string, string>;
  for (const [key, { node: each }] of map) {
    const query = tree.text(each);
    if (query === undefined || query === '' || /^[a-z]+:|^\//i.test(query))
      fail(
        'prefetch',
        `prefetch.${escapeForMessage(key)} must be a FHIR query relative to the server, such as Patient/{{context.patientId}}`,
      );
    else queries[key] = query;
  }
  return queries;
}

function readNeeds(tree: YamlTree, node: YamlNode, prefetch: Record<string, string>, fail: Fail): readonly string[] {
  if (node === undefined) return Object.keys(prefetch);
  const items = tree.list(node);
  if (items === undefined) return fail('needs', 'needs must be a list of keys of prefetch');
  return items.map((item) => {
    const key = tree.text(item) ?? '';
    return Object.hasOwn(prefetch, key)
      ? key
      : fail('needs', `needs names ${escapeForMessage(key)}, which prefetch does not have`);
  });
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000 };

function deadlineOf(text: string | undefined, fail: Fail): number | undefined {
  if (text === undefined) return undefined;
  const [, amount, unit = ''] = /^([1-9]\d{0,4})(ms|s)$/.exec(text) ?? [];
  const milliseconds = Number(amount) * (UNITS[unit] ?? Number.NaN);
  return milliseconds <= MOST_DEADLINE_MS
    ? milliseconds
    : fail('deadline', `deadline must be a time of at most ${MOST_DEADLINE_MS / 1000}s, such as 500ms or 2s`);
}

const wrong = (file: string, line: number, message: string): Error => {
  const text = `${file} line ${line}: ${message}`;
  return importRefused(text, { problems: [{ message, file, line }] });
};
