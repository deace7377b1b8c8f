/** Files that knowledge objects give, as resources. */
import type { Resource } from '@modelcontextprotocol/server';
import type { Endpoint } from '../../activation/endpoint.ts';
import { isUtf8 } from 'node:buffer';
import { mediaTypeOf } from '../../lib/media-type.ts';
import { bytes } from '../../shelf/archive/archive.ts';
import { typeOfFile } from '../../http/send-file.ts';
import { plainLine } from './plain-words.ts';
import { titleOf } from './tool-text.ts';

const PAGE = 200;
/** Larger ones are for programs, which fetch them by HTTP. */
const MOST_BYTES = 5 * 1024 * 1024;

export interface FoundFile {
  readonly endpoint: Endpoint;
  readonly path: string;
}

export interface ResourcePage {
  readonly resources: Resource[];
  readonly nextCursor?: string;
}

/** `kgrid:///<naan>/<name>/<endpoint>/<path>`: of the newest version, as tools are. */
const uriOf = ({ endpoint, path }: FoundFile): string =>
  `kgrid:///${[...endpoint.address.split('/'), ...path.split('/')].map(encodeURIComponent).join('/')}`;

/** `after`: the cursor of the page before. Undefined for a cursor that no page has. */
export async function listFiles(
  endpoints: readonly Endpoint[],
  after: string | undefined,
): Promise<ResourcePage | undefined> {
  const from = after === undefined ? 0 : Number(/^p(\d{1,9})$/.exec(after)?.[1] ?? NaN);
  if (!Number.isSafeInteger(from)) return undefined;
  const files = endpoints.flatMap((endpoint) => endpoint.entry.artifacts.map((path) => ({ endpoint, path })));
  const resources = await Promise.all(files.slice(from, from + PAGE).map(resourceOf));
  const next = from + PAGE;
  return { resources, ...(next < files.length && { nextCursor: `p${next}` }) };
}

async function resourceOf(file: FoundFile): Promise<Resource> {
  const { endpoint, path } = file;
  return {
    uri: uriOf(file),
    name: plainLine(path),
    title: titleOf(endpoint),
    description: `File of the knowledge object ${endpoint.ko.key}`,
    mimeType: mediaTypeOf(await typeOfFile(path)),
  };
}

export function findFile(endpoints: readonly Endpoint[], uri: string): FoundFile | undefined {
  for (const endpoint of endpoints)
    for (const path of endpoint.entry.artifacts) if (uriOf({ endpoint, path }) === uri) return { endpoint, path };
  return undefined;
}

export type FileContents =
  | { readonly uri: string; readonly mimeType: string; readonly text: string }
  | { readonly uri: string; readonly mimeType: string; readonly blob: string };

/** A sentence where it is too large. @throws packageDamaged; shelfNotReadable. */
export async function readFile({ endpoint, path }: FoundFile, uri: string): Promise<FileContents | string> {
  const { ko } = endpoint;
  ko.retain();
  try {
    const pkg = await ko.open();
    const size = pkg.files.get(path)?.size ?? 0;
    if (size > MOST_BYTES)
      return `${uri} has ${bytes(size)}, and a resource may have ${bytes(MOST_BYTES)}: fetch it with GET /${endpoint.id}/${path}`;
    const read = await pkg.read(path);
    const mimeType = mediaTypeOf(await typeOfFile(path));
    const isText = isUtf8(read) && !read.includes(0);
    return isText ? { uri, mimeType, text: read.toString('utf8') } : { uri, mimeType, blob: read.toString('base64') };
  } finally {
    ko.release();
  }
}
