/** Checks knowledge objects by their files, their code and their worked examples: for the command and for uploads. */
import { networkNote, wantedHosts } from '../engines/network/permission.ts';
import { aboutKo } from '../knowledge-object/about-ko.ts';
import { koKey, nameKey } from '../knowledge-object/id.ts';
import { EXAMPLES_FILE } from '../knowledge-object/worked-examples.ts';
import { formatHostPort, type HostPort } from '../lib/host-port.ts';
import { activateSources, runtimesFor } from './activate-sources.ts';
import { type Checked, checkKnowledgeObject } from './check-knowledge-object.ts';
import { examineAll } from './examine.ts';
import type { Progress } from './findings.ts';
import { entriesOf, inspectAll, type Inspection } from './inspect.ts';
import type { KoSource } from './ko-source.ts';
import type { Environment } from './local-activator.ts';

export interface CheckOptions {
  readonly env: Environment;
  readonly terminal: Progress;
  /** Knowledge objects that these call. */
  readonly called?: readonly KoSource[];
  /** Engines, in lower case, for which runtimes of others register where these will run. */
  readonly engines?: readonly string[];
  /** Whether the runtimes that they need are started. */
  readonly startsRuntimes?: boolean;
  /** Instead, those of these that they need. */
  readonly runtimes?: readonly string[];
  /** Hears of each as soon as it is checked. */
  readonly onChecked?: (checked: Checked) => void;
}

/** In the order of the sources. */
export async function checkSources(
  sources: readonly KoSource[],
  { env, terminal, called = [], engines = [], startsRuntimes = false, runtimes: allowed = [], onChecked }: CheckOptions,
): Promise<Checked[]> {
  const found = await inspectAll([...sources, ...called]);
  const all = [...(await examineAll(found.slice(0, sources.length), engines)), ...found.slice(sources.length)];
  const runtimes = runtimesFor(all).filter((name) => startsRuntimes || allowed.includes(name));
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

/** What people look for in the entry of a library, and a knowledge object does not state: advice, never a fault. */
interface LibraryAdvice {
  readonly generation: 1 | 2;
  /** Each as it is written in metadata of its generation. */
  readonly missing: readonly string[];
}

/** Undefined where the metadata cannot be read. */
export function libraryAdvice({ metadata, source }: Inspection): LibraryAdvice | undefined {
  if (metadata === undefined) return undefined;
  const { generation, text } = metadata;
  const { title, version, license, evidence } = aboutKo(text);
  const hasTests = source.files.has(EXAMPLES_FILE) || evidence.some(({ tests }) => tests.length > 0);
  const hasSources = evidence.some(({ sources }) => sources.length > 0);
  const term = (first: string, second: string): string => (generation === 1 ? first : second);
  const facts: readonly (readonly [isThere: boolean, name: string])[] = [
    [title !== undefined, `a title (${term('title', 'dc:title')})`],
    [version !== undefined, `a version (${term('version', 'dc:version')})`],
    [license !== undefined, `a licence (${term('license', 'dc:license')})`],
    [hasSources, `evidence (${term('citation', 'koio:hasKnowledge with dc:source and dc:date')})`],
    [hasTests, `tests (${EXAMPLES_FILE}${term('', ', koio:hasTest')})`],
  ];
  return { generation, missing: facts.flatMap(([isThere, name]) => (isThere ? [] : [name])) };
}
