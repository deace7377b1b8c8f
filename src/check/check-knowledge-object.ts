/** All that is found in a knowledge object: by its files, and by what becomes of it at a local activator. */
import { endpointProblems, koProblems } from '../activation/agreement.ts';
import type { Endpoint } from '../activation/endpoint.ts';
import type { LoadedKo } from '../activation/loaded-ko.ts';
import { ActivationFailure, type EndpointPlan, type Engine } from '../engines/engine.ts';
import type { Deployment, DeploymentEntry } from '../knowledge-object/descriptors/deployment.ts';
import { EXAMPLES_FILE, type WorkedExample } from '../knowledge-object/worked-examples.ts';
import { ENGINES, foreignEngine } from './engines.ts';
import { exampleProblems } from './example-problems.ts';
import { type Finding, placeOf, problem, type Progress, sorted } from './findings.ts';
import { entriesOf, type Inspection } from './inspect.ts';
import { type KoSource, readSource } from './ko-source.ts';
import type { LocalActivator } from './local-activator.ts';
import { type ExampleResult, inOneLine, runExamples } from './run-examples.ts';

export interface Checked {
  readonly inspection: Inspection;
  /** Sorted. */
  readonly findings: readonly Finding[];
  readonly examples: { readonly passed: number; readonly failed: number; readonly notRun: number };
  /** Engines whose code was left untried, since they are not here. */
  readonly untried: readonly string[];
}

export const hasProblems = ({ findings }: Pick<Checked, 'findings'>): boolean =>
  findings.some(({ severity }) => severity === 'problem');

/** @param runtimes that run beside the activator. */
export async function checkKnowledgeObject(
  inspection: Inspection,
  activator: LocalActivator,
  runtimes: readonly string[],
  terminal: Progress,
): Promise<Checked> {
  const { source, ko, examples } = inspection;
  const findings = [...inspection.findings];
  for (const engine of activator.app.engines.values())
    if (engine.builtIn) findings.push(...(await compileProblems(inspection, engine)));
  if (ko === undefined) {
    const counts = { passed: 0, failed: 0, notRun: examples.length };
    return { inspection, findings: sorted(findings), examples: counts, untried: [] };
  }
  const trial = { source, ko, examples, activator, runtimes };
  findings.push(...(await activationProblems(trial)));
  const results = await tryExamples(trial, (name) => terminal.progress(`${ko.key}: ${name} …`));
  const failed = results.filter(({ passed }) => !passed);
  findings.push(...failed.map((result) => problem(EXAMPLES_FILE, result.line, inOneLine(result))));
  // A misspelled or missing engine is reported already.
  const named = ko.declared
    .map(({ entry }) => entry)
    .filter((each) => ENGINES.has(each.engine) || foreignEngine(each) !== undefined);
  return {
    inspection,
    findings: sorted(findings),
    examples: {
      passed: results.length - failed.length,
      failed: failed.length,
      notRun: examples.length - results.length,
    },
    untried: [...new Set(named.map(({ engine }) => engine))].filter((engine) => !isHere(engine, runtimes)),
  };
}

/** Tries a knowledge object that is on the shelf of a local activator. */
export interface Trial {
  readonly source: KoSource;
  readonly ko: LoadedKo;
  readonly examples: readonly WorkedExample[];
  readonly activator: LocalActivator;
  /** That were started there. */
  readonly runtimes: readonly string[];
}

/**
 * Runs the examples that can show something. What is wrong with an endpoint or an example is named already: that its
 * calls fail too is no news, and is left out, unless the failure is what the example expects.
 */
export async function tryExamples(
  { ko, examples, activator, runtimes }: Trial,
  onProgress: (name: string) => void,
): Promise<ExampleResult[]> {
  const endpoints = activator.endpointsOf(ko.key);
  const endpointOf = (example: WorkedExample): Endpoint | undefined =>
    endpoints.find(({ entry }) => entry.path === example.endpoint && isHere(entry.engine, runtimes));
  // A library that was loaded shows which functions it does not have.
  const isMissing = (example: WorkedExample): boolean =>
    ko.library !== undefined &&
    ko.declared.every(({ entry }) => isHere(entry.engine, runtimes)) &&
    endpointOf(example) === undefined;
  const runs = (example: WorkedExample): boolean =>
    endpointOf(example)?.status === 'ACTIVATED' ||
    isMissing(example) ||
    (example.hook !== undefined && endpoints.some(({ status }) => status === 'ACTIVATED'));
  const tried = examples.filter(
    (each) =>
      exampleProblems(ko, [each]).length === 0 &&
      (runs(each) || (endpointOf(each) !== undefined && each.expected.kind === 'error')),
  );
  const address = { key: ko.key, apiVersion: ko.services[0]?.apiVersion ?? ko.id.version };
  const results = await runExamples(activator, address, tried, onProgress, activator.places);
  const examined = new Map(tried.map((example) => [example.line, runs(example)]));
  return results.filter(({ passed, line }) => passed || examined.get(line) === true);
}

/** Why endpoints do not run, but for what the descriptors alone tell. */
export async function activationProblems({ source, ko, activator, runtimes }: Trial): Promise<Finding[]> {
  const failed = activator
    .endpointsOf(ko.key)
    .filter(
      ({ status, entry, from }) =>
        status === 'FAILED_TO_ACTIVATE' &&
        isHere(entry.engine, runtimes) &&
        koProblems(ko, [from]).length === 0 &&
        endpointProblems(from, entry, ENGINES).length === 0,
    );
  return Promise.all(
    failed.map(({ from, entry, detail = '' }) => activationProblem(source, from.deployment, entry, detail)),
  );
}

/** It runs in the activator itself, or in one of these runtimes. */
const isHere = (engine: string, runtimes: readonly string[]): boolean =>
  ENGINES.get(engine)?.builtIn === true || runtimes.includes(engine);

// Compiles the javascript of a knowledge object in the real engine, and looks for the functions it deploys.

/** Also of endpoints whose descriptors disagree, so that one run names everything. */
async function compileProblems({ source, metadata, services }: Inspection, engine: Engine): Promise<Finding[]> {
  const id = metadata?.id ?? { naan: 'unknown', name: 'unknown', version: 'unknown' };
  const findings: Finding[] = [];
  const declared = services.flatMap(({ deployment }) => entriesOf(deployment).map((entry) => ({ deployment, entry })));
  for (const { deployment, entry } of declared) {
    const complete = entry.problems.length === 0 && entry.artifacts.every((path) => source.files.has(path));
    if (entry.engine !== engine.name || !complete) continue;
    const plan: EndpointPlan = {
      id: `${id.naan}/${id.name}/${id.version}${entry.path}`,
      ko: id,
      engine: entry.engine,
      endpoint: entry.path.slice(1),
      apiVersion: id.version,
      artifacts: entry.artifacts,
      entry: entry.entry,
      function: entry.function,
      options: { isolation: entry.isolation === 'call' ? 'call' : 'ko', timeout: entry.timeout },
      descriptor: entry.raw,
      checksum: '',
      files: source.files,
      read: (path) => readSource(source, path),
    };
    try {
      const executor = await engine.activate(plan, { progress: () => undefined, signal: NEVER });
      executor.dispose();
    } catch (thrown) {
      if (!(thrown instanceof ActivationFailure)) throw thrown;
      findings.push(await activationProblem(source, deployment, entry, thrown.message));
    }
  }
  return findings;
}

const NEVER = new AbortController().signal;

/** An endpoint that does not run: at the place that the engine names, else where it is deployed. */
export async function activationProblem(
  source: KoSource,
  deployment: Deployment,
  entry: DeploymentEntry,
  detail: string,
): Promise<Finding> {
  const place = placeOf(detail, source.files);
  if (place !== undefined) {
    const found = problem(place.file, place.line, detail);
    return /\bSyntaxError\b/.test(detail) && (await isTypeScript(source, place))
      ? {
          ...found,
          message: `${found.message}; TypeScript is run from files whose names end with .ts: rename it, or compile it to JavaScript`,
        }
      : found;
  }
  return problem(deployment.file, entry.line, `${entry.path}: ${detail}${await functionsIn(source, entry, detail)}`);
}

/** A declaration, parameter, result or variable with a type, as no line of JavaScript can have it. */
const TYPED =
  /^\s*(export\s+)?(declare|interface|enum|type)\s+\w+|\bimport type\b|[(,]\s*\w+\?:|\(\s*\w+\s*:\s*\w|\)\s*:\s*[\w<>[\]]+\s*(=>|\{)|\b(const|let|var)\s+\w+\s*:/;

async function isTypeScript(source: KoSource, { file, line }: { file: string; line: number }): Promise<boolean> {
  if (!/\.[cm]?jsx?$/.test(file)) return false;
  return TYPED.test((await readSource(source, file)).toString('utf8').split('\n')[line - 1] ?? '');
}

const DECLARED =
  /^[ \t]*(?:export\s+)?(?:default\s+)?(?:async\s+)?(?:(?:function|def|const|let|var)\s+|function\s*\*\s*)([A-Za-z_$][\w$]*)\s*(?:\(|=\s*(?:async\b|function\b|\(|\w+\s*=>))/gm;

/** What to write instead of a function that is not there. */
async function functionsIn(
  source: KoSource,
  { entry, function: wanted }: DeploymentEntry,
  detail: string,
): Promise<string> {
  if (wanted === undefined || !/no function|function [^ ]* is not defined/i.test(detail) || !source.files.has(entry))
    return '';
  const text = (await readSource(source, entry)).toString('utf8');
  const names = [...new Set([...text.matchAll(DECLARED)].map(([, name]) => name))];
  return names.length === 0 ? '' : `; it has: ${names.join(', ')}`;
}
