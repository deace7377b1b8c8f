/** The knowledge objects of `examples/`, by the places that a shelf gives them. */
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { koKey } from '../../../src/knowledge-object/id.ts';
import { METADATA_FILE, parseMetadata } from '../../../src/knowledge-object/metadata.ts';
import type { JsonObject } from './client.ts';
import { PROJECT } from './service.ts';

export const EXAMPLES = join(PROJECT, 'examples');

/** The folders, by their places on the shelf. */
export async function exampleFolders(): Promise<ReadonlyMap<string, string>> {
  const entries = await readdir(EXAMPLES, { withFileTypes: true });
  const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(EXAMPLES, name));
  const keys = folders.map(async (folder) => {
    const { id } = parseMetadata(await readFile(join(folder, METADATA_FILE), 'utf8'));
    return [koKey(id), folder] as const;
  });
  return new Map(await Promise.all(keys));
}

/** The place of the knowledge object that an endpoint of a listing belongs to. */
export const placeOfEndpoint = (endpoint: JsonObject): string =>
  String(endpoint['knowledgeObject']).replace('/kos/', '');

/** `<naan>/<name>/<apiVersion>` of an endpoint of a listing. */
export const addressOfEndpoint = (endpoint: JsonObject): string =>
  String(endpoint['@id']).split('/').slice(0, 3).join('/');
