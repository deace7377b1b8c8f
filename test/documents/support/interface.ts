/** The OpenAPI document of the service, with its references followed. */
import { Validator } from '@seriousme/openapi-schema-validator';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { PROJECT } from './project.ts';

export type Schema = Readonly<Record<string, unknown>>;

export interface Response {
  readonly description: string;
  readonly headers?: Readonly<Record<string, { readonly required?: boolean; readonly schema: Schema }>>;
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>;
}

export interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[];
  readonly responses: Readonly<Record<string, Response>>;
}

export type Method = 'get' | 'head' | 'post' | 'put' | 'delete';
export const METHODS: readonly Method[] = ['get', 'head', 'post', 'put', 'delete'];

export type PathItem = Partial<Readonly<Record<Method, Operation>>> & {
  readonly 'x-route'?: string | readonly string[];
};

export interface Document {
  readonly openapi: string;
  readonly info: { readonly version: string; readonly description: string };
  readonly paths: Readonly<Record<string, PathItem>>;
}

/** @throws Error with what is wrong in the document. */
export async function readInterface(): Promise<Document> {
  const validator = new Validator();
  const { valid, errors } = await validator.validate(join(PROJECT, 'openapi/service.yaml'));
  if (!valid) throw new Error(`openapi/service.yaml is not valid: ${JSON.stringify(errors)}`);
  return validator.resolveRefs() as unknown as Document;
}

/** The same without a check of the document itself, which takes longer than a few tests. */
export function loadInterface(): Document {
  const document = parse(readFileSync(join(PROJECT, 'openapi/service.yaml'), 'utf8')) as Schema;
  const seen = new Map<unknown, unknown>();
  const at = (reference: string): unknown =>
    reference
      .slice(2)
      .split('/')
      .reduce<unknown>((node, key) => (node as Schema)[key], document);
  const follow = (node: unknown): unknown => {
    if (typeof node !== 'object' || node === null) return node;
    const known = seen.get(node);
    if (known !== undefined) return known;
    const { $ref: reference } = node as { readonly $ref?: unknown };
    if (typeof reference === 'string') return follow(at(reference));
    const made: unknown[] | Record<string, unknown> = Array.isArray(node) ? [] : {};
    seen.set(node, made);
    for (const [key, value] of Object.entries(node)) Object.assign(made, { [key]: follow(value) });
    return made;
  };
  return follow(document) as Document;
}

/** The operations of a path, by method. */
export const operationsOf = (item: PathItem): [Method, Operation][] =>
  METHODS.flatMap((method) => {
    const operation = item[method];
    return operation === undefined ? [] : [[method, operation]];
  });

/** The patterns of the router that a path stands for. */
export function routesOf(path: string, item: PathItem): string[] {
  const named = item['x-route'];
  return named === undefined ? [path.replace(/\{(\w+)\}/g, ':$1')] : [named].flat();
}
