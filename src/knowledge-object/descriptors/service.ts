import { importRefused } from '../../lib/errors.ts';
import { endpointPath } from './deployment.ts';
import { readYamlTree } from './yaml-tree.ts';
import type { YamlNode, YamlTree } from './yaml-tree.ts';

/** One path and method of a service descriptor. */
export interface Operation {
  /** Line in the descriptor, from 1. */
  readonly line: number;
  readonly operationId?: string;
  /** As declared; undefined when no body is declared. */
  readonly requestMediaTypes: readonly string[] | undefined;
  /** Of the answer 200, or `2XX` where there is no 200. */
  readonly responseMediaTypes: readonly string[];
}

export interface PathItem {
  /** By method, lower case. */
  readonly methods: ReadonlyMap<string, Operation>;
  /** Line in the descriptor, from 1. */
  readonly line: number;
}

/** What the service reads of a service descriptor (OpenAPI 3). */
export interface Service {
  /** The name of the descriptor. */
  readonly file: string;
  /** `info.version`, as its source is written: the API version. */
  readonly apiVersion?: string;
  readonly title?: string;
  /** The urls, in order; the first is the one that counts. */
  readonly servers: readonly string[];
  /** By path, with a leading slash and without a trailing one. */
  readonly paths: ReadonlyMap<string, PathItem>;
  /** Where to look, from 1. */
  readonly lines: { readonly apiVersion?: number; readonly servers?: number; readonly paths?: number };
}

/**
 * Reads a service descriptor. Only what activation needs is looked at; local references (`#/…`) are followed,
 * remote ones never, and nothing in the schemas is judged.
 * @throws importRefused when the file is not YAML or does not hold a map.
 */
export function parseService(text: string, file: string): Service {
  const tree = readYamlTree(text, file);
  const root = (key: string): YamlNode => tree.root.get(key)?.node;
  const version = tree.get(root('info'), 'version');
  const apiVersion = tree.text(version?.node);
  const title = tree.text(tree.get(root('info'), 'title')?.node);
  const servers = (tree.list(root('servers')) ?? []).map((server) => tree.text(tree.get(server, 'url')?.node));
  const paths = new Map<string, PathItem>();
  for (const [key, { node, line }] of tree.map(root('paths')) ?? []) {
    paths.set(endpointPath(key), { methods: methodsOf(tree, node), line });
  }
  return {
    file,
    ...(apiVersion === undefined ? {} : { apiVersion }),
    ...(title === undefined ? {} : { title }),
    servers: servers.filter((url) => url !== undefined),
    paths,
    lines: {
      ...lineOf('apiVersion', version),
      ...lineOf('servers', tree.root.get('servers')),
      ...lineOf('paths', tree.root.get('paths')),
    },
  };
}

const lineOf = <K extends string>(key: K, entry: { line: number } | undefined): Partial<Record<K, number>> =>
  entry === undefined ? {} : ({ [key]: entry.line } as Partial<Record<K, number>>);

const METHODS = new Set(['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace']);

function methodsOf(tree: YamlTree, item: YamlNode): Map<string, Operation> {
  const methods = new Map<string, Operation>();
  // What stands beside a `$ref` of a path item is laid over what it refers to.
  for (const node of [follow(tree, item), item]) {
    for (const [key, { node: operation, line }] of tree.map(node) ?? []) {
      const method = key.toLowerCase();
      if (METHODS.has(method)) methods.set(method, operationOf(tree, operation, line));
    }
  }
  return methods;
}

function operationOf(tree: YamlTree, node: YamlNode, line: number): Operation {
  const operationId = tree.text(tree.get(node, 'operationId')?.node);
  const request = mediaTypes(tree, tree.get(node, 'requestBody')?.node);
  const responses = tree.get(node, 'responses')?.node;
  const success = ['200', '2XX', '2xx'].map((status) => tree.get(responses, status)).find((r) => r !== undefined);
  return {
    line,
    ...(operationId === undefined ? {} : { operationId }),
    requestMediaTypes: request.length === 0 ? undefined : request,
    responseMediaTypes: mediaTypes(tree, success?.node),
  };
}

/** Each call compares what its caller accepts with all of them. */
const MOST_MEDIA_TYPES = 100;

function mediaTypes(tree: YamlTree, holder: YamlNode): string[] {
  const content = tree.get(follow(tree, holder), 'content');
  const types = [...(tree.map(content?.node)?.keys() ?? [])];
  if (types.length > MOST_MEDIA_TYPES)
    throw importRefused(
      `${tree.file} line ${String(content?.line)} declares more than ${MOST_MEDIA_TYPES} media types`,
    );
  return types.map((type) => type.trim());
}

const MAX_REFERENCES = 20;

/** The node that a local `$ref` leads to; the node itself when it has none; nothing when it leads nowhere. */
function follow(tree: YamlTree, node: YamlNode): YamlNode {
  let target = node;
  for (let step = 0; step < MAX_REFERENCES; step++) {
    const reference = tree.text(tree.get(target, '$ref')?.node);
    if (reference === undefined) return target;
    if (!reference.startsWith('#/')) return undefined;
    target = atPointer(tree, reference.slice(2));
  }
  return undefined;
}

/** RFC 6901, as it stands in the fragment of a URI. */
function atPointer(tree: YamlTree, pointer: string): YamlNode {
  const [first, ...rest] = pointer.split('/').map(pointerKey);
  return rest.reduce(
    (node, key) => tree.list(node)?.[Number(key)] ?? tree.get(node, key)?.node,
    tree.root.get(first ?? '')?.node,
  );
}

/** One part of such a pointer, as the key that it stands for. */
export function pointerKey(text: string): string {
  const key = text.replaceAll('~1', '/').replaceAll('~0', '~');
  try {
    return decodeURIComponent(key);
  } catch {
    return key;
  }
}
