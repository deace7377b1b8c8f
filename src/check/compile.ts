/** Compiles the javascript of a knowledge object in the real engine, and looks for the functions it deploys. */
import { ActivationFailure } from '../engines/engine.ts';
import type { Engine, EndpointPlan } from '../engines/engine.ts';
import type { Deployment, DeploymentEntry } from '../knowledge-object/descriptors/deployment.ts';
import { placeOf, problem } from './findings.ts';
import type { Finding } from './findings.ts';
import { entriesOf } from './inspect.ts';
import type { Inspection } from './inspect.ts';
import { readSource } from './ko-source.ts';
import type { KoSource } from './ko-source.ts';

/** Also of endpoints whose descriptors disagree, so that one run names everything. */
export async function compileProblems({ source, metadata, services }: Inspection, engine: Engine): Promise<Finding[]> {
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
