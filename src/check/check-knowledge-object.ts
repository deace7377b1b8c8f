/** All that is found in a knowledge object: by its files, and by what becomes of it at a local activator. */
import { EXAMPLES_FILE } from '../knowledge-object/worked-examples.ts';
import { compileProblems } from './compile.ts';
import { ENGINES, foreignEngine } from './engines.ts';
import { type Finding, problem, type Progress, sorted } from './findings.ts';
import type { Inspection } from './inspect.ts';
import type { LocalActivator } from './local-activator.ts';
import { inOneLine } from './run-examples.ts';
import { activationProblems, isHere, tryExamples } from './try-knowledge-object.ts';

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
