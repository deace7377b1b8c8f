/** Three tools in the place of all, where there are more than an assistant can choose among. */
import type { Tool } from '@modelcontextprotocol/server';
import type { Endpoint } from '../../activation/endpoint.ts';
import { aboutKo } from '../../knowledge-object/about-ko.ts';
import type { Fields } from '../../lib/json.ts';
import { cutBytes, plainLine } from './plain-words.ts';
import { titleOf } from './tool-text.ts';

const MOST_FOUND = 20;
const READS = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false } as const;

export const FIND = 'find_knowledge';
export const DESCRIBE = 'describe_knowledge';
export const RUN = 'run_knowledge';

const NAME = { type: 'string', description: 'Name of a tool, as find_knowledge gives it' } as const;

export const FINDER_TOOLS: readonly Tool[] = [
  {
    name: FIND,
    title: 'Find knowledge',
    description:
      'Finds tools that compute scores, doses, risks and the like. Give words of the topic, such as "stroke risk"; then ask describe_knowledge for what one of them needs.',
    inputSchema: {
      type: 'object',
      properties: {
        query: { type: 'string', description: 'Words that all stand in its title, description, keywords or name' },
      },
      required: ['query'],
    },
    annotations: READS,
  },
  {
    name: DESCRIBE,
    title: 'Describe knowledge',
    description: 'Says what a tool computes, and the schemas of its arguments and its result.',
    inputSchema: { type: 'object', properties: { name: NAME }, required: ['name'] },
    annotations: READS,
  },
  {
    name: RUN,
    title: 'Run knowledge',
    description: 'Runs a tool with the arguments that describe_knowledge tells of, and gives its result.',
    inputSchema: {
      type: 'object',
      properties: { name: NAME, arguments: { type: 'object', description: 'By the schema of the tool' } },
      required: ['name'],
    },
    annotations: { ...READS, readOnlyHint: false, idempotentHint: false, openWorldHint: true },
  },
];

export const isFinderTool = (name: string): boolean => name === FIND || name === DESCRIBE || name === RUN;

interface FoundTool {
  readonly name: string;
  readonly title: string;
  readonly description?: string;
}

const searched = new WeakMap<Endpoint, string>();

function wordsOf(name: string, endpoint: Endpoint): string {
  let words = searched.get(endpoint);
  if (words === undefined) {
    const { title = '', description = '', keywords } = aboutKo(endpoint.ko.metadata);
    words = [title, endpoint.from.service.title, description, ...keywords, endpoint.id]
      .join(' ')
      .toLowerCase()
      .slice(0, 4000);
    searched.set(endpoint, words);
  }
  return `${name.toLowerCase()} ${words}`;
}

/** All words, in any case; those with all of them in the title come first. */
export function findTools(tools: Iterable<readonly [string, Endpoint]>, query: string): Fields {
  const words = query
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '')
    .slice(0, 20);
  const found = [...tools].filter(([name, endpoint]) => {
    const text = wordsOf(name, endpoint);
    return words.every((word) => text.includes(word));
  });
  const inTitle = ([, endpoint]: readonly [string, Endpoint]): boolean => {
    const title = titleOf(endpoint).toLowerCase();
    return words.every((word) => title.includes(word));
  };
  const sorted = [...found.filter(inTitle), ...found.filter((each) => !inTitle(each))];
  return {
    tools: sorted.slice(0, MOST_FOUND).map(([name, endpoint]) => foundTool(name, endpoint)),
    found: found.length,
    ...(found.length > MOST_FOUND && { note: 'There are more: give more words' }),
  };
}

function foundTool(name: string, endpoint: Endpoint): FoundTool {
  const { description } = aboutKo(endpoint.ko.metadata);
  const line = description === undefined ? '' : cutBytes(plainLine(description), 200);
  return { name, title: titleOf(endpoint), ...(line !== '' && { description: line }) };
}
