/** Checks knowledge objects by their files, their code and their worked examples: for the command and for uploads. */
import { networkNote, wantedHosts } from '../engines/network/wanted.ts';
import { koKey, nameKey } from '../knowledge-object/id.ts';
import { formatHostPort } from '../lib/host-port.ts';
import type { HostPort } from '../lib/host-port.ts';
import { activateSources, runtimesFor } from './activate-sources.ts';
import { checkKnowledgeObject } from './check-knowledge-object.ts';
import type { Checked } from './check-knowledge-object.ts';
import { examineAll } from './examine.ts';
import { entriesOf, inspectAll } from './inspect.ts';
import type { Inspection } from './inspect.ts';
import type { KoSource } from './ko-source.ts';
import { libraryAdvice } from './library-advice.ts';
import type { Environment } from './local-activator.ts';
import type { Progress } from './progress.ts';

export interface CheckOptions {
  readonly env: Environment;
  readonly terminal: Progress;
  /** Knowledge objects that these call. */
  readonly called?: readonly KoSource[];
  /** Engines, in lower case, for which runtimes of others register where these will run. */
  readonly engines?: readonly string[];
  /** Whether the runtimes that they need are started. */
  readonly startsRuntimes?: boolean;
  /** Hears of each as soon as it is checked. */
  readonly onChecked?: (checked: Checked) => void;
}

/** In the order of the sources. */
export async function checkSources(
  sources: readonly KoSource[],
  { env, terminal, called = [], engines = [], startsRuntimes = false, onChecked }: CheckOptions,
): Promise<Checked[]> {
  const found = await inspectAll([...sources, ...called]);
  const all = [...(await examineAll(found.slice(0, sources.length), engines)), ...found.slice(sources.length)];
  const runtimes = startsRuntimes ? runtimesFor(all) : [];
  await using activator = await activateSources(all, { env, terminal, runtimes, showConsole: false });
  const checked: Checked[] = [];
  for (const inspection of all.slice(0, sources.length)) {
    const one = await checkKnowledgeObject(inspection, activator, runtimes, terminal);
    checked.push(one);
    onChecked?.(one);
  }
  return checked;
}

/** What its code asks to connect to. */
const networkOf = ({ services }: Inspection): HostPort[] =>
  wantedHosts(services.flatMap(({ deployment }) => entriesOf(deployment)));

/** The same as a sentence; empty for nothing. */
export const networkNoteOf = (inspection: Inspection): string =>
  inspection.metadata === undefined ? '' : networkNote(nameKey(inspection.metadata.id), networkOf(inspection));

/** For machines. `ok`: nothing keeps it from being imported and run. */
export const reportOf = ({ inspection, findings, examples, untried }: Checked, ok: boolean): object => ({
  source: inspection.source.label,
  ko: inspection.metadata === undefined ? null : koKey(inspection.metadata.id),
  ok,
  generation: inspection.metadata?.generation ?? null,
  findings,
  network: networkOf(inspection).map(formatHostPort),
  advice: libraryAdvice(inspection)?.missing ?? [],
  examples,
  untried,
});
