/** `worked-examples.yaml`: calls of a knowledge object and the answers they must give. */
import { isJson, mediaTypeOf } from '../lib/media-type.ts';
import { isMap, isSeq } from 'yaml';
import type { YAMLMap } from 'yaml';
import { fieldsOf, isObject } from '../lib/json.ts';
import { messageOf, ServiceError } from '../lib/errors.ts';
import type { PackageProblem } from '../lib/errors.ts';
import { endpointPath } from './descriptors/deployment.ts';
import { parseYaml } from './descriptors/yaml-document.ts';

export const EXAMPLES_FILE = 'worked-examples.yaml';

/** What the call must give: a result, no cards for a reason, or a failure whose `Detail` holds a text. */
export type Expected =
  | { readonly kind: 'result'; readonly value: unknown }
  | { readonly kind: 'withheld'; readonly reason: string }
  | { readonly kind: 'error'; readonly detail: string };

export interface WorkedExample {
  readonly name: string;
  /** Where its numbers are from. */
  readonly source?: string;
  /** Path as in the deployment descriptor, with a leading slash; empty for the request of a hook. */
  readonly endpoint: string;
  /** Where it is a request of a CDS service: its id in `cds-hooks.yaml`, empty for the only one. */
  readonly hook?: string;
  readonly method: 'post' | 'get';
  readonly contentType: string;
  /** The body of the call; undefined for `get`. */
  readonly body: string | undefined;
  readonly expected: Expected;
  /** How far numbers may be off. */
  readonly tolerance: number;
  /** Line in the file, from 1. */
  readonly line: number;
}

const KEYS = new Set([
  'name',
  'source',
  'endpoint',
  'hook',
  'service',
  'method',
  'contentType',
  'input',
  'expect',
  'tolerance',
  'expectError',
  'expectWithheld',
]);

/** Reads the file; an entry that cannot be used is a problem, the others are kept. */
export function parseWorkedExamples(text: string): { examples: WorkedExample[]; problems: PackageProblem[] } {
  const problems: PackageProblem[] = [];
  const examples: WorkedExample[] = [];
  try {
    const { document, resolve, line } = parseYaml(text, EXAMPLES_FILE);
    if (document.contents === null) return { examples, problems };
    if (!isSeq(document.contents)) {
      problems.push(problem(1, 'must hold a list: begin each example with "- name: …"'));
      return { examples, problems };
    }
    for (const item of document.contents.items) {
      const node = resolve(item);
      const at = line(node);
      if (!isMap(node)) problems.push(problem(at, 'this entry is no example: write "- name: …" with its keys'));
      else {
        const report = (key: string, message: string): void =>
          void problems.push(problem(lineOf(node, key, line) ?? at, message));
        const example = readExample(node.toJS(document) as Record<string, unknown>, at, report);
        if (example !== undefined) examples.push(example);
      }
    }
  } catch (thrown) {
    if (!(thrown instanceof ServiceError) && !(thrown instanceof ReferenceError)) throw thrown;
    const [place] = thrown instanceof ServiceError ? thrown.problems : [];
    problems.push(problem(place?.line, messageOf(thrown)));
  }
  return { examples, problems };
}

const problem = (line: number | undefined, message: string): PackageProblem => ({
  message,
  file: EXAMPLES_FILE,
  ...(line !== undefined && { line }),
});

type Report = (key: string, message: string) => void;

function lineOf(map: YAMLMap, key: string, line: (node: never) => number): number | undefined {
  const pair = map.items.find((each) => String(each.key) === key);
  return pair === undefined ? undefined : line(pair.key as never);
}

/** Undefined when something in it was reported. */
function readExample(fields: Record<string, unknown>, line: number, report: Report): WorkedExample | undefined {
  let usable = true;
  const fail = (key: string, message: string): void => {
    usable = false;
    report(key, message);
  };
  const unknown = Object.keys(fields).filter((key) => !KEYS.has(key));
  for (const key of unknown) {
    report(key, `"${key}" is no key of an example; the keys are ${[...KEYS].join(', ')}`);
  }
  // What seems to be missing then is most often what was misspelt.
  if (unknown.length > 0) return undefined;
  if ('hook' in fields) return readHookExample(fields, line, report);
  const { name, endpoint, contentType = 'application/json', tolerance = 0, input, expectError } = fields;
  const method = typeof fields['method'] === 'string' ? fields['method'].toLowerCase() : (fields['method'] ?? 'post');
  if (typeof name !== 'string' || name === '')
    fail('name', 'this example has no name: say in a few words what it shows');
  if (typeof endpoint !== 'string')
    fail('endpoint', 'this example has no endpoint: add its path, as in the deployment descriptor');
  if (method !== 'post' && method !== 'get') fail('method', 'method must be post or get');
  if (typeof contentType !== 'string') fail('contentType', 'contentType must be a media type such as text/plain');
  if (typeof tolerance !== 'number' || !(tolerance >= 0)) fail('tolerance', 'tolerance must be a number from 0 on');
  for (const key of ['service', 'expectWithheld'])
    if (key in fields) fail(key, `${key} is for requests of a CDS service: add hook, such as patient-view`);
  const hasResult = 'expect' in fields;
  if (hasResult === 'expectError' in fields) {
    fail('expectError', 'an example has either expect (the result) or expectError (a text in the Detail of the error)');
  } else if (!hasResult && (typeof expectError !== 'string' || expectError === '')) {
    fail('expectError', 'expectError must be a text that the Detail of the error holds');
  }
  const json = isJson(mediaTypeOf(String(contentType)));
  if (!json && typeof input !== 'string') {
    fail('input', `input must be text, since contentType is ${String(contentType)}: put it between quotes`);
  }
  if (method === 'post' && !('input' in fields)) fail('input', 'this example has no input: add what the call sends');
  if (!usable) return undefined;
  return {
    name: String(name),
    ...(typeof fields['source'] === 'string' && { source: fields['source'] }),
    endpoint: endpointPath(String(endpoint)),
    method: method === 'get' ? 'get' : 'post',
    contentType: String(contentType),
    body: method === 'get' ? undefined : json ? JSON.stringify(input) : String(input),
    expected: hasResult ? { kind: 'result', value: fields['expect'] } : { kind: 'error', detail: String(expectError) },
    tolerance: Number(tolerance),
    line,
  };
}

/** Names the call of a hook in all examples. */
const HOOK_INSTANCE = '00000000-0000-4000-8000-000000000000';

/** A request of a CDS service: `input` holds its `context` and `prefetch`. Undefined when something in it was reported. */
function readHookExample(fields: Record<string, unknown>, line: number, report: Report): WorkedExample | undefined {
  const { name, hook, service = '', input, tolerance = 0, expectError, expectWithheld } = fields;
  let usable = true;
  const fail = (key: string, message: string): void => {
    usable = false;
    report(key, message);
  };
  if (typeof name !== 'string' || name === '')
    fail('name', 'this example has no name: say in a few words what it shows');
  if (typeof hook !== 'string') fail('hook', 'hook must be the name of a hook such as patient-view');
  if (typeof service !== 'string') fail('service', 'service must be the id of a service in cds-hooks.yaml');
  if (!isObject(input)) fail('input', 'input must hold the context and prefetch of the hook');
  if (typeof tolerance !== 'number' || !(tolerance >= 0)) fail('tolerance', 'tolerance must be a number from 0 on');
  for (const key of ['endpoint', 'method', 'contentType'])
    if (key in fields) fail(key, `${key} has no meaning beside hook`);
  const expected: Expected =
    'expect' in fields
      ? { kind: 'result', value: fields['expect'] }
      : 'expectWithheld' in fields
        ? { kind: 'withheld', reason: String(expectWithheld) }
        : { kind: 'error', detail: String(expectError) };
  if (['expect', 'expectWithheld', 'expectError'].filter((key) => key in fields).length !== 1)
    fail('expect', 'the example of a hook has one of expect (the cards), expectWithheld (the reason) or expectError');
  if (!usable) return undefined;
  return {
    name: String(name),
    ...(typeof fields['source'] === 'string' && { source: fields['source'] }),
    endpoint: '',
    hook: String(service),
    method: 'post',
    contentType: 'application/json',
    body: JSON.stringify({ hook, hookInstance: HOOK_INSTANCE, ...fieldsOf(input) }),
    expected,
    tolerance: Number(tolerance),
    line,
  };
}
