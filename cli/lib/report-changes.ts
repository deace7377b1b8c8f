/** What `play` says of each change. */
import { foreignEngines } from '../../src/check/engines.ts';
import type { Finding } from '../../src/check/findings.ts';
import { sorted } from '../../src/check/findings.ts';
import { printFindings } from './print-findings.ts';
import type { LocalActivator } from '../../src/check/local-activator.ts';
import { nameOf } from './playground.ts';
import type { Change, Changes } from './playground.ts';
import { printExample } from './report-examples.ts';
import type { ExampleResult } from '../../src/check/run-examples.ts';
import { count } from './terminal.ts';
import type { Terminal } from './terminal.ts';
import { activationProblems, tryExamples } from '../../src/check/try-knowledge-object.ts';
import type { Trial } from '../../src/check/try-knowledge-object.ts';

export interface Session {
  readonly activator: LocalActivator;
  readonly terminal: Terminal;
  readonly runtimes: readonly string[];
  readonly runsTests: boolean;
}

type Endpoints = ReturnType<LocalActivator['endpointsOf']>;

interface Outcome {
  readonly change: Change;
  /** Milliseconds from the save until it was active. */
  readonly active: number;
  readonly problems: readonly Finding[];
  readonly results: readonly ExampleResult[];
  readonly endpoints: Endpoints;
}

/**
 * Reports what is decided.
 * @param somethingNew resolves when it is not worth waiting for slow activations any longer.
 * @returns what is not decided yet.
 */
export async function reportChanges(
  session: Session,
  { changed, gone }: Changes,
  somethingNew: Promise<void>,
): Promise<Change[]> {
  const { activator, terminal } = session;
  for (const key of gone) {
    terminal.print(`${now(terminal)} ${key}: no longer there`);
    terminal.json({ event: 'gone', ko: key });
  }
  const looked = changed.map(async (change) => {
    const endpoints = endpointsOf(change, session);
    const decided = activator.decided(endpoints, (text) => terminal.progress(text));
    // An installation of packages may take minutes: what is saved meanwhile goes first.
    await Promise.race([decided, somethingNew]);
    return { change, endpoints, active: Math.round(Date.now() - change.saved) };
  });
  const undecided: Change[] = [];
  for (const { change, endpoints, active } of await Promise.all(looked)) {
    if (endpoints.some(({ status }) => status === 'LOADED')) {
      undecided.push(change);
      continue;
    }
    const trial = trialOf(change, session);
    const ofEndpoints =
      trial === undefined
        ? []
        : [
            ...trial.ko.services.flatMap(({ deployment }) => foreignEngines(deployment, [])),
            ...(await activationProblems(trial)),
          ];
    const problems = sorted([...change.findings.filter(({ severity }) => severity === 'problem'), ...ofEndpoints]);
    const runs = trial !== undefined && session.runsTests;
    const results = runs ? await tryExamples(trial, (name) => terminal.progress(`${name} …`)) : [];
    const outcome = { change, active, problems, results, endpoints };
    print(outcome, session);
    terminal.json(asEvent(outcome));
  }
  return undecided;
}

/** Nothing to try where what was saved is not what is served. */
function trialOf({ inspection, isServed }: Change, { activator, runtimes }: Session): Trial | undefined {
  const { source, ko, examples } = inspection;
  return ko === undefined || !isServed ? undefined : { source, ko, examples, activator, runtimes };
}

const keptAsBefore = ({ isNew, isServed }: Change): boolean => !isNew && !isServed;

const endpointsOf = ({ inspection: { ko }, isServed }: Change, { activator }: Session): Endpoints =>
  ko === undefined || !isServed ? [] : activator.endpointsOf(ko.key);

function print({ change, active, problems, results, endpoints }: Outcome, { activator, terminal }: Session): void {
  const { source } = change.inspection;
  const running = endpoints.filter(({ status }) => status === 'ACTIVATED');
  const failed = results.filter(({ passed }) => !passed);
  const facts = [
    ...(!change.isNew && change.isServed && running.length > 0 ? [`active ${active} ms after it was saved`] : []),
    ...(problems.length > 0 ? [terminal.bad(count(problems.length, 'problem'))] : []),
    ...(keptAsBefore(change) ? ['what was active before stays active'] : []),
    ...(results.length > failed.length
      ? [terminal.good(`${count(results.length - failed.length, 'worked example')} passed`)]
      : []),
    ...(failed.length > 0 ? [terminal.bad(`${count(failed.length, 'worked example')} failed`)] : []),
  ];
  printFindings(source, problems, terminal);
  const line = [terminal.bold(nameOf(change)), ...(facts.length > 0 ? [facts.join(', ')] : [])].join(': ');
  terminal.print(change.isNew ? line : `${now(terminal)} ${line}`);
  if (change.isNew) {
    for (const { entry, id } of running) terminal.print(`  ${entry.method.toUpperCase()} ${activator.url}/${id}`);
  }
  for (const result of failed) printExample(source, result, terminal);
}

const asEvent = ({ change, active, problems, results, endpoints }: Outcome): unknown => ({
  event: change.isNew ? 'loaded' : 'changed',
  source: change.inspection.source.label,
  ko: nameOf(change),
  ...(change.isNew ? {} : { milliseconds: active }),
  keptAsBefore: keptAsBefore(change),
  endpoints: endpoints.map(({ id, status, detail }) => ({ id, status, ...(detail === undefined ? {} : { detail }) })),
  problems,
  examples: results,
});

const now = (terminal: Terminal): string => terminal.dim(new Date().toTimeString().slice(0, 8));
