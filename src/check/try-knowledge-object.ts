/** Tries a knowledge object that is on the shelf of a local activator. */
import { endpointProblems, koProblems } from '../activation/agreement.ts';
import type { Endpoint } from '../activation/endpoint.ts';
import type { LoadedKo } from '../activation/loaded-ko.ts';
import { activationProblem } from './compile.ts';
import { ENGINES } from './engines.ts';
import { exampleProblems } from './example-problems.ts';
import type { Finding } from './findings.ts';
import type { KoSource } from './ko-source.ts';
import type { LocalActivator } from './local-activator.ts';
import { runExamples } from './run-examples.ts';
import type { ExampleResult } from './run-examples.ts';
import type { WorkedExample } from '../knowledge-object/worked-examples.ts';

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
export const isHere = (engine: string, runtimes: readonly string[]): boolean =>
  ENGINES.get(engine)?.builtIn === true || runtimes.includes(engine);
