/** What the descriptors of an inspected knowledge object say beyond what an activator reads of them. */
import { unknownDeploymentKeys } from './deployment-keys.ts';
import { foreignEngines } from './engines.ts';
import type * as Examples from './example-findings.ts';
import { sorted } from './findings.ts';
import type { Inspection } from './inspect.ts';
import { fieldsOf } from '../lib/fields.ts';
import type { Finding } from './findings.ts';
import type * as OpenApi from './openapi-findings.ts';
import { readSource } from './ko-source.ts';
import { readSchemaFiles } from './schema-files.ts';
import { EXAMPLES_FILE } from '../knowledge-object/worked-examples.ts';
import { readPlaced } from './yaml-place.ts';
import type { PlacedData } from './yaml-place.ts';

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
