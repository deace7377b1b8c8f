/** Runs worked examples at an activator. */
import type { ActivatorClient, ListedEndpoint } from './client.ts';
import { wordsOf } from './client.ts';
import { differences } from '../../src/knowledge-object/compare-results.js';
import type { Difference } from '../../src/knowledge-object/compare-results.js';
import { withPlace } from './failed-places.ts';
import type { FailedPlaces } from './failed-places.ts';
import type { WorkedExample } from '../../src/knowledge-object/worked-examples.ts';

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

export interface KoAddress {
  /** `<naan>/<name>/<version>`. */
  readonly key: string;
  /** The version in its service descriptor. */
  readonly apiVersion: string;
}

/** One after the other, in the order of the file. */
export async function runExamples(
  client: ActivatorClient,
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
  client: ActivatorClient,
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
