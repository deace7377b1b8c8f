import { importRefused } from '../../lib/errors.ts';
import { type HostPort, parseHostPort, STANDARD_PORT } from '../../lib/host-port.ts';
import { escapeForMessage } from '../../lib/text.ts';
import { isEndpointPart } from '../id.ts';
import { withoutDot } from '../package-path.ts';
import { readYamlTree, type YamlMap, type YamlNode, type YamlTree } from './yaml-tree.ts';

/** How one path and method of a KO is to run, as its deployment descriptor says. */
export interface DeploymentEntry {
  /** With a leading slash and without a trailing one: `/score`, `/a/b`. */
  readonly path: string;
  /** Lower case; `post` or `get` unless there are `problems`. */
  readonly method: string;
  /** Lower case; empty when the descriptor names none. */
  readonly engine: string;
  /** Paths in the package, in the order of the descriptor. */
  readonly artifacts: readonly string[];
  /** The artifact that holds the function; empty when there is no artifact. */
  readonly entry: string;
  readonly function?: string | undefined;
  /** The installable package that holds the code, and the module in it that holds the function. */
  readonly package?: string | undefined;
  readonly module?: string | undefined;
  /** Folder of that package, where it is to be installed; empty for the root. */
  readonly installs?: string | undefined;
  /** As written, such as `call`. */
  readonly isolation?: string | undefined;
  /** Milliseconds. */
  readonly timeout?: number | undefined;
  /** What becomes of inputs that break the schema of the service descriptor. */
  readonly validate?: ValidationMode | undefined;
  /** What its code connects to: it only tells the operator what to allow. */
  readonly network?: readonly HostPort[] | undefined;
  /** The name of its tool for assistants. */
  readonly mcpName?: string | undefined;
  /** It stands for a file of a library, and tells which functions that exports; see `library.ts` of the activation. */
  readonly listsExports?: true | undefined;
  /** Its code was seen to load just now. */
  readonly isLoaded?: true | undefined;
  /** What is worth knowing of it though it runs. */
  readonly note?: string | undefined;
  /** All that the descriptor says beside path, method, engine, artifacts, entry and function. */
  readonly raw: Readonly<Record<string, unknown>>;
  /** Line in the descriptor, from 1. */
  readonly line: number;
  /** Why this entry cannot run, in words, with the file and the line. The other entries are not concerned. */
  readonly problems: readonly string[];
}

export interface Deployment {
  /** The name of the descriptor. */
  readonly file: string;
  /** By path; several entries where a path has several methods. */
  readonly endpoints: ReadonlyMap<string, readonly DeploymentEntry[]>;
}

/**
 * Reads a deployment descriptor: "a map from endpoint path to an HTTP method key (`post` or `get`)", or the older
 * shape `endpoints: {"/path": {artifact, engine, function}}`, whose method is `get` for the engine `resource` and
 * `post` for all others. What stands below `engine` counts as if it stood beside it.
 * @throws importRefused when the file is not YAML or does not hold a map.
 */
export function parseDeployment(text: string, file: string): Deployment {
  const tree = readYamlTree(text, file);
  const found = new Map<string, Map<string, DeploymentEntry>>();
  let count = 0;
  const add = (entry: DeploymentEntry): void => {
    if (++count > MOST_ENDPOINTS)
      throw importRefused(`${file} deploys more than ${MOST_ENDPOINTS} endpoints: divide them among knowledge objects`);
    const methods = found.get(entry.path) ?? new Map<string, DeploymentEntry>();
    found.set(entry.path, methods.set(entry.method, entry));
  };
  for (const [key, { node, line }] of tree.root) {
    const older = key === 'endpoints' ? tree.map(node) : undefined;
    if (older !== undefined) {
      for (const [path, endpoint] of older) readPath(tree, path, endpoint, false).forEach(add);
    } else if (key.startsWith('/') || hasMethod(tree, node)) {
      readPath(tree, key, { node, line }, true).forEach(add);
    }
  }
  return { file, endpoints: new Map([...found].map(([path, methods]) => [path, [...methods.values()]])) };
}

const MOST_ENDPOINTS = 1000;

/** The form in which paths of both descriptors are compared: one leading slash, none at the end. */
export const endpointPath = (key: string): string => `/${key.trim().replace(/^\/|\/$/g, '')}`;

const METHODS: ReadonlySet<string> = new Set(['post', 'get', 'put', 'patch', 'delete', 'head', 'options', 'trace']);
const isMethod = (key: string): boolean => METHODS.has(key.toLowerCase());
const hasMethod = (tree: YamlTree, node: YamlNode): boolean =>
  [...(tree.map(node) ?? [])].some(([key, { node: value }]) => isMethod(key) && tree.map(value) !== undefined);

interface Place {
  readonly node: YamlNode;
  readonly line: number;
}

function readPath(tree: YamlTree, key: string, place: Place, methodIsNeeded: boolean): DeploymentEntry[] {
  const path = endpointPath(key);
  if (methodIsNeeded || hasMethod(tree, place.node)) {
    const methods = [...(tree.map(place.node) ?? [])].filter(([name]) => isMethod(name));
    if (methods.length > 0) return methods.map(([name, entry]) => readEntry(tree, path, name.toLowerCase(), entry));
    return [readEntry(tree, path, undefined, place)];
  }
  const engine = engineOf(tree, tree.map(place.node)) === 'resource' ? 'get' : 'post';
  return [readEntry(tree, path, engine, place)];
}

/** Engines whose code may be a package to install. */
const INSTALLS = /\bpython\b/;

/** Characters. */
const MAX_PATH_CHARACTERS = 1024;

function readEntry(tree: YamlTree, path: string, method: string | undefined, place: Place): DeploymentEntry {
  const problems: string[] = [];
  const own = tree.map(place.node) ?? new Map<string, Place>();
  const fields = new Map([...(tree.map(own.get('engine')?.node) ?? []), ...own]);
  if (path.length > MAX_PATH_CHARACTERS)
    problems.push(`is no endpoint path: it has more than ${MAX_PATH_CHARACTERS} characters`);
  else if (!path.slice(1).split('/').every(isEndpointPart)) {
    problems.push(`is no endpoint path: use 1 to 64 letters, digits and . _ ~ - between the slashes`);
  }
  if (method === undefined) problems.push('has no method: put post: (for code) or get: (for a resource) below it');
  else if (method !== 'post' && method !== 'get') {
    problems.push(`has the method ${method}: use post for code and get for a resource`);
  }
  const engine = engineOf(tree, fields);
  if (engine === '') problems.push('names no engine: add a line such as "engine: javascript"');
  const module = textOf(tree, fields, 'module', problems);
  const packageName = textOf(tree, fields, 'package', problems);
  const isPackage = (module ?? packageName) !== undefined && INSTALLS.test(engine);
  const artifacts = artifactsOf(tree, fields.get('artifact')?.node, !isPackage, problems);
  const named = textOf(tree, fields, 'entry', problems);
  const entry = artifacts.length === 1 || named === undefined ? artifacts[0] : withoutDot(named);
  if (entry !== undefined && !artifacts.includes(entry)) {
    problems.push(`has the entry ${escapeForMessage(entry)}, which is not one of its artifacts`);
  }
  const timeout = timeoutOf(textOf(tree, fields, 'timeout', problems), problems);
  const isolation = textOf(tree, fields, 'isolation', problems);
  const validate = validateOf(textOf(tree, fields, 'validate', problems), problems);
  const network = networkOf(tree, fields.get('network')?.node);
  const mcpName = mcpNameOf(tree, fields.get('mcp')?.node, problems);
  const name = textOf(tree, fields, 'function', problems);
  return {
    path,
    method: method ?? 'post',
    engine,
    artifacts,
    entry: entry ?? '',
    ...(name === undefined ? {} : { function: name }),
    ...(packageName === undefined ? {} : { package: packageName }),
    ...(module === undefined ? {} : { module }),
    ...(isPackage && artifacts.length === 0 ? { installs: '' } : {}),
    ...(isolation === undefined ? {} : { isolation }),
    ...(timeout === undefined ? {} : { timeout }),
    ...(validate === undefined ? {} : { validate }),
    ...(network.length === 0 ? {} : { network }),
    ...(mcpName === undefined ? {} : { mcpName }),
    raw: rawOf(tree, own),
    line: place.line,
    problems: problems.map(
      (problem) => `${tree.file} line ${String(place.line)}: ${escapeForMessage(path)} ${problem}`,
    ),
  };
}

/** `engine: javascript` or `engine: {name: javascript, …}`, compared without case. */
function engineOf(tree: YamlTree, fields: YamlMap | undefined): string {
  const node = fields?.get('engine')?.node;
  const text = tree.text(node) ?? tree.text(tree.get(node, 'name')?.node);
  return text?.trim().toLowerCase() ?? '';
}

/** `isNeeded`: an installable package has all its files. */
function artifactsOf(tree: YamlTree, node: YamlNode, isNeeded: boolean, problems: string[]): string[] {
  const items = tree.list(node) ?? (node === undefined ? [] : [node]);
  const paths = items.map((item) => tree.text(item)).filter((text) => text !== undefined && text !== '');
  if (paths.length < items.length) problems.push('has an artifact that is not the path of a file');
  else if (paths.length === 0 && isNeeded)
    problems.push('names no artifact: add a line such as "artifact: src/index.js"');
  return paths.map((path) => withoutDot(path ?? ''));
}

function textOf(tree: YamlTree, fields: YamlMap, key: string, problems: string[]): string | undefined {
  const node = fields.get(key)?.node;
  if (tree.map(node) !== undefined || tree.list(node) !== undefined)
    problems.push(`has a ${key} that is not plain text`);
  return tree.text(node);
}

/** A number without a unit is milliseconds. */
const MILLISECONDS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000 };

function timeoutOf(text: string | undefined, problems: string[]): number | undefined {
  if (text === undefined) return undefined;
  const [, amount, unit = ''] = /^([1-9]\d{0,8})(ms|s|m|)$/.exec(text) ?? [];
  if (amount !== undefined) return Number(amount) * (MILLISECONDS[unit] ?? 1);
  problems.push(
    `has the timeout ${escapeForMessage(text)}: it must be a whole number with a unit, such as 500ms, 300s or 5m`,
  );
  return undefined;
}

function validateOf(text: string | undefined, problems: string[]): ValidationMode | undefined {
  const mode = VALIDATION_MODES.find((each) => each === text?.toLowerCase());
  if (text !== undefined && mode === undefined)
    problems.push(`has validate ${escapeForMessage(text)}: it must be ${VALIDATION_MODES.join(', ')}`);
  return mode;
}

/** Of tools, as assistants take them. */
const MCP_NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** `mcp: {name: …}`. What is no name is told, since an assistant would find the tool under another. */
function mcpNameOf(tree: YamlTree, node: YamlNode, problems: string[]): string | undefined {
  const name = tree.get(node, 'name')?.node;
  if (name === undefined) return undefined;
  const text = tree.text(name);
  if (text !== undefined && MCP_NAME.test(text)) return text;
  problems.push(
    `has the mcp name ${escapeForMessage(text ?? 'of another kind')}: it must be 1 to 64 letters, digits, _ and -`,
  );
  return undefined;
}

/** A host, or a list of them; what is none is left out, since runtimes of others may give the key another meaning. */
function networkOf(tree: YamlTree, node: YamlNode): HostPort[] {
  const items = tree.list(node) ?? (node === undefined ? [] : [node]);
  return items.slice(0, MOST_HOSTS).flatMap((item) => {
    const value = tree.value(item);
    return (typeof value === 'string' ? parseHostPort(value, STANDARD_PORT) : undefined) ?? [];
  });
}

const MOST_HOSTS = 20;

const READ = new Set(['artifact', 'engine', 'entry', 'function']);

function rawOf(tree: YamlTree, fields: YamlMap): Record<string, unknown> {
  const rest = [...fields].filter(([key]) => !READ.has(key));
  return Object.fromEntries(rest.map(([key, { node }]) => [key, tree.value(node)]));
}

/** What becomes of inputs that break the schema of their endpoint: nothing, a line in the log, or a refusal. */
export const VALIDATION_MODES = ['off', 'log', 'enforce'] as const;
export type ValidationMode = (typeof VALIDATION_MODES)[number];

/**
 * The stricter of what the operator and the knowledge object say counts; only an operator who says `off` in so many
 * words turns off what knowledge objects ask for. Undefined: says nothing.
 */
export function strictest(operator: ValidationMode | undefined, own: ValidationMode | undefined): ValidationMode {
  if (operator === 'off') return 'off';
  if (operator === 'enforce' || own === 'enforce') return 'enforce';
  return operator ?? own ?? 'off';
}
