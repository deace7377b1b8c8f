/** Runs worked examples at an activator. */
import { randomUUID } from 'node:crypto';
import { type Difference, differences } from '../knowledge-object/compare-results.js';
import type { WorkedExample } from '../knowledge-object/worked-examples.ts';
import { type Answer, type Sent, wordsOf } from './answers.ts';

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
    const [naan = '', name = ''] = key.split('/');
    const id = idOf(listed, example.endpoint) ?? `${naan}/${name}/${apiVersion}${example.endpoint}`;
    const { hook } = example;
    const path = hook === undefined ? id : `cds-services/${[naan, name, hook].filter((part) => part !== '').join('-')}`;
    results.push(await runExample(client, path, example, places));
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
  const withheld = answer.headers.get('kgrid-cards-withheld') ?? undefined;
  if (expected.kind === 'withheld')
    return withheld?.includes(expected.reason) === true
      ? { name, line, passed: true, milliseconds }
      : fail(`expected cards withheld for ${expected.reason}, got ${withheld ?? JSON.stringify(answer.body)}`);
  if (withheld !== undefined) return fail(`the cards were withheld: ${withheld}`);
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

/**
 * Where the code of a call failed. The answer has the words of the runtime and no more: "Detail begins with a
 * code-execution-error message carrying the runtime's message". The place stands in the activator's log, which names
 * the request.
 */
export class FailedPlaces {
  /** By the ids of calls that are on their way, such as `(src/bmi.js line 12)`; empty where it is not known. */
  readonly #places = new Map<string, string>();

  /** An id for the `X-Request-Id` of a call. */
  expect(): string {
    const id = `kgrid-${randomUUID()}`;
    this.#places.set(id, '');
    return id;
  }

  /** False where the call is none of these. */
  add(id: string, place: string): boolean {
    if (!this.#places.has(id)) return false;
    this.#places.set(id, place);
    return true;
  }

  /** What is known of a call that has its answer. */
  take(id: string): string {
    const place = this.#places.get(id) ?? '';
    this.#places.delete(id);
    return place;
  }
}

/** A message with the place of its cause, once. */
export const withPlace = (message: string, place: string): string =>
  place === '' || message.includes(place) ? message : `${message} ${place}`;
