/** What a model is told of a tool: it decides by this whether it calls it, and how it fills it in. */
import { aboutKo } from '../../knowledge-object/about-ko.ts';
import type { Endpoint } from '../../activation/endpoint.ts';
import type { FormExample, FormParts } from '../../execution/validation/form-thread.ts';
import { isObject } from '../../lib/json.ts';
import type { Fields } from '../../lib/json.ts';
import { cutBytes, plainLine } from './plain-words.ts';

/** "At most 2 KB". */
const MOST_BYTES = 2048;
const MOST = { title: 160, summary: 300, description: 500, inputs: 600, example: 300, source: 240 } as const;
const MOST_INPUTS = 20;
const NOT_CLINICAL = /\bnot\b[^.]{0,60}\bclinical (?:use|care|practice|decision)/i;

export interface Wraps {
  readonly input: boolean;
  readonly result: boolean;
}

/** Of people, for lists. */
export const titleOf = ({ ko, from }: Pick<Endpoint, 'ko' | 'from'>): string =>
  cutBytes(plainLine(ko.details.title ?? from.service.title ?? ko.key), MOST.title);

/** `schema`: of the input of the tool; `wraps`: which values stand below `input` and `result`. */
export function descriptionOf(endpoint: Endpoint, form: FormParts, schema: Fields, wraps: Wraps): string {
  const about = aboutKo(endpoint.ko.metadata);
  const { ko } = endpoint;
  const texts = [about.description, form.summary, form.description].filter((text) => text !== undefined);
  const said = [about.title, ...texts, ...about.keywords].join('. ');
  const lines = [
    titleOf(endpoint),
    // What must be read is never what is cut.
    ...(NOT_CLINICAL.test(said) ? ['Not for clinical use.'] : []),
    ...parts(form.summary, MOST.summary),
    ...parts(form.description === form.summary ? undefined : form.description, MOST.description),
    ...parts(about.description, MOST.description),
    ...inputsOf(schema, wraps.input),
    ...exampleOf(form.examples, wraps),
    ...parts(sourceOf(about.evidence.flatMap(({ title, sources }) => [title, ...sources])), MOST.source),
  ];
  const end = `Knowledge object ${ko.key}.`;
  const most = MOST_BYTES - Buffer.byteLength(end) - 1;
  return `${cutBytes([...new Set(lines)].join('\n'), most)}\n${end}`;
}

function parts(text: string | undefined, most: number): string[] {
  const line = text === undefined ? '' : plainLine(text);
  return line === '' ? [] : [cutBytes(line, most)];
}

const sourceOf = (sources: readonly (string | undefined)[]): string | undefined => {
  const [first] = sources.filter((each) => each !== undefined && each.trim() !== '');
  return first === undefined ? undefined : `Source: ${first}`;
};

/** Names, types, units and ranges. */
function inputsOf(schema: Fields, isWrapped: boolean): string[] {
  const { properties, required } = schema;
  if (!isObject(properties)) return [];
  const needed = new Set(Array.isArray(required) ? (required as unknown[]) : []);
  const inputs = Object.entries(properties)
    .slice(0, MOST_INPUTS)
    .map(([name, each]) => `- ${plainLine(name)}${inputOf(each, needed.has(name) && !isWrapped)}`);
  return inputs.length === 0 ? [] : [cutBytes(['Inputs:', ...inputs].join('\n'), MOST.inputs)];
}

function inputOf(schema: unknown, isNeeded: boolean): string {
  if (!isObject(schema)) return '';
  const { type, description, title, minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema;
  const unit = schema['x-unit'];
  const from = number(minimum) ?? number(exclusiveMinimum, 'above ');
  const to = number(maximum) ?? number(exclusiveMaximum, 'below ');
  const range =
    from === undefined
      ? to === undefined
        ? undefined
        : `to ${to}`
      : `${from}${to === undefined ? ' or more' : ` to ${to}`}`;
  const facts = [
    isNeeded ? 'required' : undefined,
    typeof type === 'string' ? type : Array.isArray(type) ? type.join(' or ') : undefined,
    typeof unit === 'string' ? plainLine(unit) : undefined,
    range,
    Array.isArray(schema['enum']) ? `one of ${cutBytes(JSON.stringify(schema['enum']).slice(1, -1), 80)}` : undefined,
  ].filter((each) => each !== undefined);
  const words = typeof description === 'string' ? description : typeof title === 'string' ? title : '';
  return `${facts.length === 0 ? '' : ` (${facts.join(', ')})`}${words === '' ? '' : `: ${cutBytes(plainLine(words), 120)}`}`;
}

const number = (value: unknown, word = ''): string | undefined =>
  typeof value === 'number' ? `${word}${value}` : undefined;

/** The first that has an answer. */
function exampleOf(examples: readonly FormExample[], wraps: Wraps): string[] {
  for (const { input, expected } of examples) {
    if (input === undefined || expected === undefined || !('result' in expected)) continue;
    const given = JSON.stringify(wraps.input ? { input } : input);
    const line = plainLine(`Example: ${given} gives ${JSON.stringify(expected.result)}`);
    if (Buffer.byteLength(line) <= MOST.example) return [line];
  }
  return [];
}
