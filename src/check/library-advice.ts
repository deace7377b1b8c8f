/** What people look for in the entry of a library, and a knowledge object does not state: advice, never a fault. */
import { aboutKo } from '../knowledge-object/about-ko.ts';
import type { Inspection } from './inspect.ts';
import { EXAMPLES_FILE } from '../knowledge-object/worked-examples.ts';

export interface LibraryAdvice {
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
