/** In-toto statements about a package: who made it, and what its worked examples answer. */
import { hash } from 'node:crypto';
import { json } from '@sigstore/core';
import type { WorkedExample } from '../../../knowledge-object/worked-examples.ts';
import { refusing, SignatureRefused } from './refused.ts';

export const PAYLOAD_TYPE = 'application/vnd.in-toto+json';
export const PROVENANCE = 'https://slsa.dev/provenance/v1';
export const WORKED_EXAMPLES = 'urn:kgrid:worked-examples:v1';
const STATEMENT = 'https://in-toto.io/Statement/v1';
/** Bundles of other programs may still hold the older form; ours is v1. */
const STATEMENTS: ReadonlySet<unknown> = new Set([STATEMENT, 'https://in-toto.io/Statement/v0.1']);
const SHA256 = /^[0-9a-f]{64}$/;

export interface Statement {
  readonly predicateType: string;
  readonly predicate: unknown;
  /** Digests of what it is about, lower-case hex. */
  readonly subjects: readonly string[];
}

export interface ExampleHash {
  readonly name: string;
  /** Of the endpoint, the method, the content type and the body of the call. */
  readonly call: string;
  /** Of the answer it must give, with its tolerance. */
  readonly answer: string;
}

export interface Signed {
  /** `naan/name/version`. */
  readonly ko: string;
  /** Of the listing, lower-case hex. */
  readonly sha256: string;
}

/** Names the package, its digest, and the program that signed it. */
export const provenanceStatement = (signed: Signed, version: string): object =>
  statement(signed, PROVENANCE, {
    buildDefinition: {
      buildType: 'urn:kgrid:package:v1',
      externalParameters: { knowledgeObject: signed.ko },
      resolvedDependencies: [],
    },
    runDetails: { builder: { id: 'urn:kgrid:sign', version: { kgrid: version } } },
  });

/** Holds the hash of each worked example, so that a later version can be compared by its behaviour. */
export const examplesStatement = (signed: Signed, examples: readonly WorkedExample[]): object =>
  statement(signed, WORKED_EXAMPLES, { examples: exampleHashes(examples) });

export const exampleHashes = (examples: readonly WorkedExample[]): ExampleHash[] =>
  examples.map(({ name, endpoint, hook, method, contentType, body = null, expected, tolerance }) => ({
    name,
    call: hashOf({ endpoint, ...(hook !== undefined && { hook }), method, contentType, body }),
    answer: hashOf({ expected, tolerance }),
  }));

// Through JSON, since YAML has dates and the like that have one form only there.
const hashOf = (value: object): string =>
  hash('sha256', json.canonicalize(JSON.parse(JSON.stringify(value)) as object));

const statement = ({ ko, sha256 }: Signed, predicateType: string, predicate: object): object => ({
  _type: STATEMENT,
  subject: [{ name: ko, digest: { sha256 } }],
  predicateType,
  predicate,
});

/**
 * Reads a payload that was signed. The verifier of the library looks at signatures only: without this any signed
 * JSON, or a statement about another file, would do.
 * @throws SignatureRefused.
 */
export function readStatement(payloadType: string, payload: Buffer): Statement {
  if (payloadType !== PAYLOAD_TYPE)
    throw new SignatureRefused(`the payload is ${payloadType || 'of no type'}, and not ${PAYLOAD_TYPE}`);
  const value = refusing('the statement is not JSON', () => JSON.parse(payload.toString('utf8')) as unknown);
  const { _type, subject, predicateType, predicate } = (value ?? {}) as Record<string, unknown>;
  if (!STATEMENTS.has(_type)) throw new SignatureRefused('the statement is not of type in-toto Statement v1');
  if (!Array.isArray(subject) || typeof predicateType !== 'string')
    throw new SignatureRefused('the statement has no subject or no predicateType');
  const digests = subject.map((each: unknown) => (each as { digest?: { sha256?: unknown } } | null)?.digest?.sha256);
  return {
    predicateType,
    predicate,
    subjects: digests.filter((each) => typeof each === 'string').filter((each) => SHA256.test(each)),
  };
}
