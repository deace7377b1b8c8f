/** What the descriptors of an inspected knowledge object say beyond what an activator reads of them. */
import { EXAMPLES_FILE } from '../knowledge-object/worked-examples.ts';
import { didYouMean, wordLike } from '../lib/did-you-mean.ts';
import { parseHostPort, STANDARD_PORT } from '../lib/host-port.ts';
import { type Fields, fieldsOf, isObject } from '../lib/json.ts';
import { ENGINES, foreignEngines } from './engines.ts';
import type * as Examples from './example-findings.ts';
import { type Finding, type PlacedData, readPlaced, sorted, warning } from './findings.ts';
import type { Inspection } from './inspect.ts';
import { readSource } from './ko-source.ts';
import type * as OpenApi from './openapi-findings.ts';
import { readSchemaFiles } from './schema-errors.ts';

/**
 * The same with these findings. The libraries that it takes are loaded here only.
 * @param engines beside ours that will be there; undefined where an activator decides it.
 */
export async function examineAll(
  inspections: readonly Inspection[],
  engines?: readonly string[],
): Promise<Inspection[]> {
  const libraries = await Promise.all([import('./openapi-findings.ts'), import('./example-findings.ts')]);
  const tools = { ...libraries[0], ...libraries[1], validator: libraries[0].makeValidator() };
  const examined: Inspection[] = [];
  for (const each of inspections) examined.push(await examine(each, tools, engines));
  return examined;
}

interface Tools {
  readonly openapiFindings: typeof OpenApi.openapiFindings;
  readonly exampleFindings: typeof Examples.exampleFindings;
  readonly workedExampleFindings: typeof Examples.workedExampleFindings;
  readonly uncheckedFindings: typeof Examples.uncheckedFindings;
  readonly validator: ReturnType<typeof OpenApi.makeValidator>;
}

async function examine(
  inspection: Inspection,
  { openapiFindings, exampleFindings, workedExampleFindings, uncheckedFindings, validator }: Tools,
  engines: readonly string[] | undefined,
): Promise<Inspection> {
  const { source, descriptors, examples, findings } = inspection;
  const found = (inspection.ko?.services ?? []).flatMap(({ deployment }) => foreignEngines(deployment, engines));
  const textOf = async (path: string): Promise<string | undefined> =>
    source.files.has(path) ? (await readSource(source, path)).toString('utf8') : undefined;
  for (const deployment of descriptors.deployments) {
    const text = await textOf(deployment);
    if (text !== undefined) found.push(...unknownDeploymentKeys(text, deployment));
  }
  for (const service of descriptors.services) {
    const placed = read(await textOf(service), service);
    if (placed === undefined) continue;
    const files = await readSchemaFiles(fieldsOf(placed.value), service, textOf);
    found.push(...(await openapiFindings(placed, service, validator)), ...exampleFindings(placed, service, files));
    // What is no schema is said already.
    const said = new Set([...findings, ...found].map(({ file, line }) => `${file} ${line}`));
    const unchecked = uncheckedFindings(placed, service, isEnforced(inspection, service), files);
    found.push(...unchecked.filter(({ file, line }) => !said.has(`${file} ${line}`)));
    const calls = read(await textOf(EXAMPLES_FILE), EXAMPLES_FILE);
    if (calls !== undefined) found.push(...workedExampleFindings(placed, service, examples, calls, files));
  }
  // A file that cannot be parsed has no other findings.
  const garbled = new Set(findings.filter(({ message }) => /^not (UTF-8|valid)/.test(message)).map(({ file }) => file));
  return { ...inspection, findings: sorted([...findings, ...found.filter(({ file }) => !garbled.has(file))]) };
}

/** Worked examples that break their own schema. */
export async function brokenExamples({ source, descriptors, examples }: Inspection): Promise<Finding[]> {
  const { workedExampleFindings } = await import('./example-findings.ts');
  const textOf = async (path: string): Promise<string | undefined> =>
    source.files.has(path) ? (await readSource(source, path)).toString('utf8') : undefined;
  const calls = read(await textOf(EXAMPLES_FILE), EXAMPLES_FILE);
  const found: Finding[] = [];
  for (const service of descriptors.services) {
    const placed = read(await textOf(service), service);
    if (placed === undefined || calls === undefined) continue;
    const files = await readSchemaFiles(fieldsOf(placed.value), service, textOf);
    found.push(...workedExampleFindings(placed, service, examples, calls, files));
  }
  return found;
}

/** Whether a deployment asks for checks of what that service is given. */
const isEnforced = ({ ko }: Inspection, file: string): boolean =>
  (ko?.services ?? [])
    .filter(({ service }) => service.file === file)
    .some(({ deployment }) => [...deployment.endpoints.values()].flat().some(({ validate }) => validate === 'enforce'));

const read = (text: string | undefined, file: string): PlacedData | undefined =>
  text === undefined ? undefined : readPlaced(text, file);

// Keys of a deployment descriptor that nobody reads.

/** In the order of `docs/authoring.md`. */
const KEYS = ['engine', 'artifact', 'entry', 'function', 'isolation', 'timeout', 'validate', 'network', 'mcp'] as const;
const METHODS = ['post', 'get'] as const;
const BESIDE_METHODS = ['summary', 'description'];
const OTHER_METHODS = new Set(['put', 'patch', 'delete', 'head', 'options', 'trace']);

function unknownDeploymentKeys(text: string, file: string): Finding[] {
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
    if (entry['mcp'] !== undefined && (!isObject(entry['mcp']) || entry['mcp']['name'] === undefined))
      warn([...path, 'mcp'], 'mcp names no tool: write "mcp: {name: my_tool}", or take it out');
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
