/** `--trust-policy`: who may sign packages of which naan. Read as a whole, or refused with the line of the mistake. */
import type { KeyObject } from 'node:crypto';
import { isMap, isScalar, isSeq } from 'yaml';
import { parseYaml, type YamlDocument, type YamlNode } from '../../../knowledge-object/descriptors/yaml-document.ts';
import { messageOf } from '../../../lib/errors.ts';
import { keyName, readPublicKey } from './keys.ts';
import { parseTrustedRoot } from './trusted-root.ts';
import type { Signer } from './verify.ts';

export const TRUST_MODES = ['off', 'warn', 'require'] as const;
export type TrustMode = (typeof TRUST_MODES)[number];

export interface TrustedSigner {
  /** For people: its own name in the policy, or the name of its key or identity. */
  readonly name: string;
  readonly signer: Signer;
  readonly validFrom?: Date;
  readonly validTo?: Date;
  /** From then on nothing counts that it has signed, whenever it did. */
  readonly revoked?: Date;
}

export interface NaanTrust {
  readonly signers: readonly TrustedSigner[];
  /** How many of them must have signed. */
  readonly threshold: number;
}

export interface TrustPolicy {
  readonly mode: TrustMode;
  /** By naan; `*` stands for all that are not named. */
  readonly naans: ReadonlyMap<string, NaanTrust>;
}

export class TrustPolicyMistake extends Error {
  override readonly name = 'TrustPolicyMistake';
}

/** Returns the bytes of the file that a policy names. */
export type ReadRoot = (path: string) => Buffer;

/** @throws TrustPolicyMistake with file, line and what to do. */
export function parseTrustPolicy(text: string, file: string, readRoot: ReadRoot): TrustPolicy {
  let yaml: YamlDocument;
  try {
    yaml = parseYaml(text, file);
  } catch (cause) {
    throw new TrustPolicyMistake(messageOf(cause), { cause });
  }
  const reader = new Reader(yaml, file, readRoot);
  const fields = reader.fields(yaml.document.contents, ['mode', 'naans'], 'the policy');
  const mode = reader.text(fields.get('mode')?.value);
  const known = TRUST_MODES.find((each) => each === mode);
  if (known === undefined)
    throw reader.mistake(fields.get('mode')?.key, `mode must be one of ${TRUST_MODES.join(', ')}`);
  const naans = reader.fields(fields.get('naans')?.value, undefined, 'naans');
  return { mode: known, naans: new Map([...naans].map(([naan, { value }]) => [naan, reader.naan(value)])) };
}

interface Field {
  readonly key: YamlNode;
  readonly value: YamlNode;
}

const SIGNER_KEYS = ['name', 'key', 'identity', 'trustedRoot', 'validFrom', 'validTo', 'revoked'];

class Reader {
  readonly #yaml: YamlDocument;
  readonly #file: string;
  readonly #readRoot: ReadRoot;

  constructor(yaml: YamlDocument, file: string, readRoot: ReadRoot) {
    this.#yaml = yaml;
    this.#file = file;
    this.#readRoot = readRoot;
  }

  mistake(node: YamlNode, message: string, cause?: unknown): TrustPolicyMistake {
    return new TrustPolicyMistake(`${this.#file}:${this.#yaml.line(node)}: ${message}`, { cause });
  }

  /** A key that is not known would be a wish that nobody hears, such as `revokd`; of one said twice, one would. */
  fields(node: YamlNode, known: readonly string[] | undefined, what: string): ReadonlyMap<string, Field> {
    if (!isMap(node)) throw this.mistake(node, `${what} must be a map`);
    const fields = new Map<string, Field>();
    for (const pair of node.items) {
      const key = this.#yaml.resolve(pair.key);
      const name = isScalar(key) ? String(key.value) : '';
      if (known?.includes(name) === false)
        throw this.mistake(key, `${name} is no key of ${what}: it may have ${known.join(', ')}`);
      if (fields.has(name)) throw this.mistake(key, `${name} stands there twice`);
      fields.set(name, { key, value: this.#yaml.resolve(pair.value) });
    }
    return fields;
  }

  text(node: YamlNode): string | undefined {
    // YAML 1.1 reads "off" as false; this reads what is written.
    return isScalar(node) && node.value !== null
      ? typeof node.value === 'string'
        ? node.value
        : node.source
      : undefined;
  }

  naan(node: YamlNode): NaanTrust {
    const fields = this.fields(node, ['threshold', 'signers'], 'a naan');
    const list = fields.get('signers')?.value;
    if (!isSeq(list) || list.items.length === 0)
      throw this.mistake(list ?? node, 'signers must be a list with at least one');
    const signers: TrustedSigner[] = [];
    for (const item of list.items) {
      const signer = this.#signer(this.#yaml.resolve(item));
      // One person must not count as two.
      if (signers.some((other) => identityOf(other.signer) === identityOf(signer.signer)))
        throw this.mistake(this.#yaml.resolve(item), `the signer ${signer.name} stands there twice`);
      signers.push(signer);
    }
    const threshold = fields.get('threshold');
    const least = threshold === undefined ? 1 : Number(this.text(threshold.value));
    if (!Number.isInteger(least) || least < 1 || least > signers.length)
      throw this.mistake(
        threshold?.key,
        `threshold must be a number from 1 to ${signers.length}, the number of signers`,
      );
    return { signers, threshold: least };
  }

  #signer(node: YamlNode): TrustedSigner {
    const fields = this.fields(node, SIGNER_KEYS, 'a signer');
    const [key, identity] = [fields.get('key'), fields.get('identity')];
    if ((key === undefined) === (identity === undefined))
      throw this.mistake(node, 'a signer has either a key or an identity');
    const signer =
      identity === undefined ? this.#key(key, fields.get('trustedRoot')) : this.#identity(identity, fields);
    const [validFrom, validTo] = [this.#date(fields.get('validFrom')), this.#date(fields.get('validTo'))];
    if (validFrom !== undefined && validTo !== undefined && validTo < validFrom)
      throw this.mistake(fields.get('validTo')?.key, 'validTo is before validFrom');
    const revoked = this.#revoked(fields.get('revoked'));
    return {
      name: this.text(fields.get('name')?.value) ?? identityOf(signer),
      signer,
      ...(validFrom === undefined ? {} : { validFrom }),
      ...(validTo === undefined ? {} : { validTo }),
      ...(revoked === undefined ? {} : { revoked }),
    };
  }

  #key(field: Field | undefined, root: Field | undefined): Signer {
    let key: KeyObject;
    try {
      key = readPublicKey(this.text(field?.value) ?? '');
    } catch (cause) {
      throw this.mistake(field?.key, `key: ${messageOf(cause)}`, cause);
    }
    return { kind: 'key', key, ...(root === undefined ? {} : { trustedRoot: this.#root(root) }) };
  }

  #identity({ key, value }: Field, outer: ReadonlyMap<string, Field>): Signer {
    if (outer.has('trustedRoot'))
      throw this.mistake(outer.get('trustedRoot')?.key, 'the trustedRoot of an identity stands inside it');
    const fields = this.fields(value, ['issuer', 'subject', 'trustedRoot'], 'an identity');
    const [issuer, subject] = [this.text(fields.get('issuer')?.value), this.text(fields.get('subject')?.value)];
    const root = fields.get('trustedRoot');
    if (issuer === undefined || subject === undefined || root === undefined)
      throw this.mistake(key, 'an identity has an issuer, a subject, and a trustedRoot, which is a file');
    return { kind: 'identity', issuer, subject, trustedRoot: this.#root(root) };
  }

  #root({ key, value }: Field): ReturnType<typeof parseTrustedRoot> {
    try {
      return parseTrustedRoot(this.#readRoot(this.text(value) ?? ''));
    } catch (cause) {
      throw this.mistake(key, `trustedRoot: ${messageOf(cause)}`, cause);
    }
  }

  #date(field: Field | undefined): Date | undefined {
    if (field === undefined) return undefined;
    const text = this.text(field.value) ?? '';
    const date = new Date(text);
    if (!ISO_DATE.test(text) || Number.isNaN(date.getTime()))
      throw this.mistake(field.key, 'a time is written 2026-01-31 or 2026-01-31T12:00:00Z');
    return date;
  }

  #revoked(field: Field | undefined): Date | undefined {
    const text = this.text(field?.value);
    if (text === 'false') return undefined;
    return text === 'true' ? new Date(0) : this.#date(field);
  }
}

const ISO_DATE = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d))?$/;

const identityOf = (signer: Signer): string =>
  signer.kind === 'key' ? keyName(signer.key) : `${signer.subject} by ${signer.issuer}`;
