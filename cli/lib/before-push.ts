/** What is looked at at an activator before anything is uploaded to it. */
import { escapeForMessage } from '../../src/knowledge-object/escape-for-message.ts';
import type { ActivatorClient } from './client.ts';
import { CommandFailure, EXIT, usageFailure } from './exit.ts';
import { placeIn } from '../../src/check/ko-source.ts';
import { packageDifferences } from './package-differences.ts';
import type { FileDifference } from './package-differences.ts';
import type { Ready } from './publish.ts';
import { readHealth } from './remote-health.ts';
import type { EngineState } from './remote-health.ts';
import { fetchPackage } from './remote-package.ts';
import { printDifferences } from './report-differences.ts';
import type { Terminal } from './terminal.ts';

/**
 * The engines of the activator; undefined where it does not tell them, which one that asks for a login first does not.
 * @throws CommandFailure when it cannot be reached.
 */
export async function enginesAt(client: ActivatorClient): Promise<readonly EngineState[] | undefined> {
  const answer = await client.send('/actuator/health');
  return answer.status === 200 ? (await readHealth(client)).engines : undefined;
}

/** @throws CommandFailure that names all engines that are needed and not there. */
export function requireEngines(
  ready: readonly Ready[],
  engines: readonly EngineState[],
  { url }: ActivatorClient,
): void {
  const missing = ready.flatMap(({ source, ko }) =>
    ko.declared.flatMap(({ from: { deployment }, entry: { engine, line } }) => {
      const why = absence(engines, engine);
      return why === undefined
        ? []
        : [`${placeIn(source, deployment.file, line)}: the engine ${escapeForMessage(engine)} ${why}`];
    }),
  );
  if (missing.length === 0) return;
  const known = engines
    .filter(({ name }) => absence(engines, name) === undefined)
    .map(({ name }) => escapeForMessage(name));
  throw new CommandFailure(
    EXIT.problems,
    [
      ...missing,
      `Nothing was uploaded, since ${url} has only the engines ${known.join(', ')}: start a runtime for the other there, or say --any-engine to upload all the same`,
    ].join('\n'),
  );
}

function absence(engines: readonly EngineState[], wanted: string): string | undefined {
  const engine = engines.find(({ name }) => name.toLowerCase() === wanted);
  if (engine === undefined) return 'is not there';
  if (engine.runtimes !== 0 || engine.starting) return undefined;
  return `has no runtime there${engine.problem === undefined ? '' : ` (${engine.problem})`}`;
}

export type Before = 'new' | 'same' | 'other';

/** By key, what is on the shelf of the activator already. @throws CommandFailure where it must not be replaced. */
export async function lookBefore(
  ready: readonly Ready[],
  client: ActivatorClient,
  terminal: Terminal,
  replace: boolean,
): Promise<ReadonlyMap<string, Before>> {
  const before = new Map<string, Before>();
  const others: { key: string; found: readonly FileDifference[] }[] = [];
  for (const { source, ko } of ready) {
    terminal.progress(`comparing ${ko.key} …`);
    await using there = await fetchPackage(client, ko.key);
    const found = there === undefined ? undefined : await packageDifferences(there.source, source);
    before.set(ko.key, found === undefined ? 'new' : found.length === 0 ? 'same' : 'other');
    if (found !== undefined && found.length > 0) others.push({ key: ko.key, found });
  }
  if (others.length === 0 || replace) return before;
  for (const { key, found } of others) {
    terminal.print(`${client.url} has another ${key}:`);
    printDifferences(found, terminal);
  }
  const [one] = others;
  const what = others.length === 1 ? (one?.key ?? '') : `these ${others.length} knowledge objects`;
  const answer = await terminal.confirm(`Replace ${what} at ${client.url}?`);
  if (answer === true) return before;
  throw usageFailure(
    answer === false
      ? 'Nothing was uploaded'
      : `Nothing was uploaded, since ${client.url} has another ${others.map(({ key }) => key).join(', ')}: say --replace to replace what is there, or give a new version; "kgrid diff" shows what differs`,
  );
}
