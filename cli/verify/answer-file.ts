/** An answer of an activator as a person kept it. */
import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { messageOf } from '../../src/lib/errors.ts';
import { ioFailure, usageFailure } from '../lib/exit.ts';
import { fieldsOf, isObject } from '../lib/fields.ts';
import { PIPE } from '../run/formats.ts';

/** An endpoint and what it was. */
export interface Place {
  readonly endpoint: string;
  /** `<naan>/<name>/<version>`. */
  readonly knowledgeObject: string;
  /** The value of `KGrid-Package-Digest`. */
  readonly digest: string;
}

export interface KeptAnswer {
  readonly result: unknown;
  /** The body as it was sent. */
  readonly inputs: string;
  /** The metadata of the knowledge object. */
  readonly metadata: unknown;
  /** Undefined where the activator did not tell. */
  readonly provenance: KeptProvenance | undefined;
}

export interface KeptProvenance extends Place {
  readonly contentType: string | undefined;
  readonly engine: string;
  readonly time: string;
  readonly calls: readonly Place[];
}

/** @throws CommandFailure where the file cannot be read, or holds no answer that can be had again. */
export async function readAnswerFile(path: string, stdin: NodeJS.ReadableStream): Promise<KeptAnswer> {
  let value: unknown;
  const content = await readText(path, stdin);
  try {
    value = JSON.parse(content);
  } catch (thrown) {
    throw usageFailure(`${path} is not JSON, so it is no answer of an activator: ${messageOf(thrown)}`);
  }
  return answerOf(value, path);
}

async function readText(path: string, stdin: NodeJS.ReadableStream): Promise<string> {
  try {
    return path === PIPE ? await text(stdin) : await readFile(path, 'utf8');
  } catch (thrown) {
    throw ioFailure(`${path} cannot be read: ${messageOf(thrown)}`, thrown);
  }
}

export function answerOf(value: unknown, path: string): KeptAnswer {
  const info = fieldsOf(fieldsOf(value)['info']);
  const { inputs, ko: metadata, provenance } = info;
  if (!isObject(value) || !('result' in value))
    throw usageFailure(`${path} holds no result: keep the whole answer of a call, {"result": …, "info": …}`);
  if (typeof inputs !== 'string')
    throw usageFailure(`${path} does not tell its inputs: keep the whole answer, without Accept …;profile="minimal"`);
  return { result: value['result'], inputs, metadata, provenance: provenanceOf(provenance, path) };
}

function provenanceOf(value: unknown, path: string): KeptProvenance | undefined {
  if (value === undefined) return undefined;
  const said = fieldsOf(value);
  const { contentType, time, calls } = said;
  const { name, version } = fieldsOf(said['engine']);
  const place = placeOf(value);
  const called = Array.isArray(calls) ? calls.map(placeOf) : undefined;
  if (place === undefined || called === undefined || called.includes(undefined))
    throw usageFailure(`info.provenance of ${path} is not that of an activator`);
  return {
    ...place,
    contentType: typeof contentType === 'string' ? contentType : undefined,
    engine: `${String(name)} ${String(version)}`,
    time: String(time),
    calls: called.filter((each) => each !== undefined),
  };
}

function placeOf(value: unknown): Place | undefined {
  const { endpoint, knowledgeObject, digest } = fieldsOf(value);
  return typeof endpoint === 'string' && typeof knowledgeObject === 'string' && typeof digest === 'string'
    ? { endpoint, knowledgeObject, digest }
    : undefined;
}
