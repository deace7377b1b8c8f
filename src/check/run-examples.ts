/** Runs worked examples at an activator. */
import { wordsOf } from './answers.ts';
import type { Answer, Sent } from './answers.ts';
import { differences } from '../knowledge-object/compare-results.js';
import type { Difference } from '../knowledge-object/compare-results.js';
import { withPlace } from './failed-places.ts';
import type { FailedPlaces } from './failed-places.ts';
import type { WorkedExample } from '../knowledge-object/worked-examples.ts';

export interface ExampleResult {
  readonly name: string;
  readonly line: number;
  readonly passed: boolean;
  readonly milliseconds: number;
  /** Where the result is not what it must be. */
  readonly differences?: readonly Difference[];
  /** Why there is no result to compare. */
  readonly failure?: string;
}

/** An activator, here or elsewhere, at which examples are run. */
export interface ExampleActivator {
  /** By `<naan>/<name>/<version>`. */
  endpointsOf(ko: string): readonly ListedEndpoint[] | Promise<readonly ListedEndpoint[]>;
  send(path: string, sent: Sent): Promise<Answer>;
}

interface ListedEndpoint {
  /** `<naan>/<name>/<apiVersion>/<endpoint>`. */
  readonly id: string;
}

export interface KoAddress {
  /** `<naan>/<name>/<version>`. */
  readonly key: string;
  /** The version in its service descriptor. */
  readonly apiVersion: string;
}

/** One after the other, in the order of the file. */
export async function runExamples(
  client: ExampleActivator,
  { key, apiVersion }: KoAddress,
  examples: readonly WorkedExample[],
  onProgress: (name: string) => void = () => undefined,
  places?: FailedPlaces,
): Promise<ExampleResult[]> {
  const listed = await client.endpointsOf(key);
  const results: ExampleResult[] = [];
  for (const example of examples) {
    onProgress(example.name);
    const id =
      idOf(listed, example.endpoint) ?? `${key.split('/').slice(0, 2).join('/')}/${apiVersion}${example.endpoint}`;
    results.push(await runExample(client, id, example, places));
  }
  return results;
}

/** Where two versions of a KO have one API version, only the listing knows which of them has the address. */
const idOf = (listed: readonly ListedEndpoint[], endpoint: string): string | undefined =>
  listed.find(({ id }) => `/${id.split('/').slice(3).join('/')}` === endpoint)?.id;

async function runExample(
  client: ExampleActivator,
  id: string,
  example: WorkedExample,
  places?: FailedPlaces,
): Promise<ExampleResult> {
  const { name, line, method, contentType, body, expected, tolerance } = example;
  const requestId = places?.expect();
  const began = performance.now();
  const answer = await client.send(`/${id}`, {
    method: method.toUpperCase(),
    ...(body === undefined ? {} : { body }),
    headers: {
      ...(body === undefined ? {} : { 'content-type': contentType }),
      ...(requestId === undefined ? {} : { 'x-request-id': requestId }),
    },
  });
  const place = requestId === undefined ? undefined : places?.take(requestId);
  const milliseconds = Math.round(performance.now() - began);
  const failed = answer.status >= 400;
  const words = (): string => withPlace(wordsOf(answer), place ?? '');
  const fail = (failure: string): ExampleResult => ({ name, line, passed: false, milliseconds, failure });
  if (expected.kind === 'error') {
    if (!failed)
      return fail(`expected an error with "${expected.detail}", got ${JSON.stringify(resultOf(answer.body))}`);
    return wordsOf(answer).includes(expected.detail)
      ? { name, line, passed: true, milliseconds }
      : fail(`expected an error with "${expected.detail}", got ${words()}`);
  }
  if (failed) return fail(words());
  const found = differences(expected.value, resultOf(answer.body), tolerance);
  return {
    name,
    line,
    passed: found.length === 0,
    milliseconds,
    ...(found.length === 0 ? {} : { differences: found }),
  };
}

const resultOf = (body: unknown): unknown =>
  typeof body === 'object' && body !== null && 'result' in body ? body.result : body;

/** How an example failed, in one sentence. */
export const inOneLine = ({ name, failure, differences = [] }: ExampleResult): string =>
  `"${name}": ${failure ?? differences.map(sentence).join('; ')}`;

const sentence = ({ path, expected, got }: Difference): string => `${pathOf(path)} expected ${expected}, got ${got}`;

/** Where in a result; for people. */
export const pathOf = (path: string): string => (path === '' ? 'result' : path);
