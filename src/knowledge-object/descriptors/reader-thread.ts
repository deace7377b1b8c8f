/** A thread of `background-reader.ts`: reads one descriptor after the other. */
import { serialize } from 'node:v8';
import { parentPort } from 'node:worker_threads';
import { importRefused, type PackageProblem, ServiceError } from '../../lib/errors.ts';
import { type DescriptorKinds, PARSERS } from './background-reader.ts';

export interface ReadingJob {
  readonly kind: keyof DescriptorKinds;
  readonly text: string;
  readonly file: string;
}

export type Reading =
  | { readonly value: Uint8Array }
  | { readonly refused: string; readonly problems: readonly PackageProblem[] }
  | { readonly failed: string };

/** Bytes that the service's own thread takes in: what comes of a descriptor of any length that a person writes. */
const MAX_BYTES = 2 ** 20;

parentPort?.on('message', (jobs: readonly ReadingJob[]) => parentPort?.postMessage(jobs.map(read)));

function read({ kind, text, file }: ReadingJob): Reading {
  try {
    const value = serialize(PARSERS[kind](text, file));
    if (value.length > MAX_BYTES) throw importRefused(`${file} describes too much for one knowledge object: divide it`);
    return { value };
  } catch (thrown) {
    if (thrown instanceof ServiceError) return { refused: thrown.message, problems: thrown.problems };
    return { failed: String(thrown) };
  }
}
