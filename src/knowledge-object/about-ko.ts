/** What a knowledge object says of itself to people, in the words of either generation. */
import { withoutMark } from '../lib/text.ts';
import { LinkedObject } from './linked-data.ts';
import { parseObject } from './metadata-text.ts';

/** Lists are empty where nothing is stated. */
export interface AboutKo {
  readonly title?: string;
  readonly version?: string;
  readonly description?: string;
  /** As written. */
  readonly date?: string;
  readonly license?: string;
  /** Names, else what stands for them. */
  readonly creators: readonly string[];
  readonly contributors: readonly string[];
  readonly keywords: readonly string[];
  readonly evidence: readonly Evidence[];
  readonly documentation: readonly string[];
}

/** What the knowledge rests on. */
export interface Evidence {
  readonly title?: string;
  /** Citations and addresses. */
  readonly sources: readonly string[];
  readonly date?: string;
  readonly creators: readonly string[];
  readonly documentation: readonly string[];
  readonly tests: readonly string[];
}

/** For pages, which read it when they are asked for: activation needs none of it. Never throws. */
export function aboutKo(metadata: string): AboutKo {
  const fields = parseObject(withoutMark(metadata), []);
  if (fields === undefined) return { creators: [], contributors: [], keywords: [], evidence: [], documentation: [] };
  const root = LinkedObject.of(fields);
  const own = evidenceIn(root);
  const knowledge = root.objects('hasKnowledge').map(evidenceIn);
  return {
    ...stated('title', root.text('title')),
    ...stated('version', root.text('version', ['dc', '', 'koio', 'schema'])),
    ...stated('description', root.text('description')),
    ...stated('date', own.date),
    ...stated('license', root.names('license')[0] ?? root.names('rights')[0]),
    creators: own.creators,
    contributors: [...new Set([...root.names('contributors'), ...root.names('contributor')])],
    keywords: root
      .texts('keywords')
      .flatMap((text) => text.split(','))
      .map((word) => word.trim())
      .filter((word) => word !== ''),
    evidence: [
      ...(own.sources.length > 0 ? [{ sources: own.sources, creators: [], documentation: [], tests: [] }] : []),
      ...knowledge.filter(isStated),
    ],
    documentation: own.documentation,
  };
}

function evidenceIn(node: LinkedObject): Evidence {
  return {
    ...stated('title', node.text('title') ?? node.text('name', ['', 'schema'])),
    sources: [...node.names('source'), ...node.names('citation')],
    ...stated('date', node.text('date') ?? node.text('datePublished', ['', 'schema'])),
    creators: node.names('creator'),
    documentation: node.names('hasDocumentation'),
    tests: node.names('hasTest'),
  };
}

const isStated = ({ title, date, sources, creators, documentation, tests }: Evidence): boolean =>
  title !== undefined ||
  date !== undefined ||
  [sources, creators, documentation, tests].some((each) => each.length > 0);

const stated = <K extends string>(key: K, value: string | undefined): Partial<Record<K, string>> =>
  value === undefined || value.trim() === '' ? {} : ({ [key]: value } as Partial<Record<K, string>>);
