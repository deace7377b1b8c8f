/** The endpoint that a run calls: where it is, which package it is of, and what its descriptor says of it. */
import { type Answer, wordsOf } from '../../src/check/answers.ts';
import { fieldsOf } from '../../src/lib/json.ts';
import { type ActivatorClient, refusal } from '../lib/client.ts';
import { usageFailure } from '../lib/exit.ts';
import { type EndpointSchemas, schemasOfEndpoint } from './schema-fields.ts';

export const DIGEST_HEADER = 'kgrid-package-digest';
export const RECORDS_TYPE = 'application/x-ndjson';

export interface RunEndpoint {
  /** `<naan>/<name>/<apiVersion>/<endpoint>`, also where its address names no version. */
  readonly id: string;
  /** Digest of the package, where the service sends it. */
  readonly digest: string | undefined;
  readonly schemas: EndpointSchemas;
  readonly notes: readonly string[];
}

/** The address of the activator and the path there, of an address or of a path alone. */
export function addressOf(named: string): { readonly url: string | undefined; readonly path: string } {
  if (!/^https?:\/\//i.test(named)) return { url: undefined, path: `/${named.replace(/^\//, '')}` };
  const url = URL.parse(named);
  if (url === null)
    throw usageFailure(`${named} is no address: write it like http://127.0.0.1:8080/naan/name/1.0/endpoint`);
  if (url.username !== '') throw usageFailure('Leave the login out of the address: use KGRID_USER and KGRID_PASSWORD');
  return { url: url.origin, path: url.pathname + url.search };
}

/** Asks for no record, which says whether there is such an endpoint. @throws CommandFailure where not. */
export async function openEndpoint(client: ActivatorClient, path: string): Promise<RunEndpoint> {
  const headers = { 'content-type': RECORDS_TYPE, accept: `${RECORDS_TYPE}, application/json` };
  const answer = await client.send(path, { method: 'POST', headers, body: '' });
  if (answer.status === 404)
    throw usageFailure(`There is no endpoint ${path} at ${client.url}: ${wordsOf(answer)} ("kgrid status" lists them)`);
  if (answer.status !== 200) throw refusal(answer, client, `does not run records at ${path}`);
  if (!isOfRecords(answer.headers.get('content-type')))
    throw usageFailure(
      `${client.url}${path} does not answer record by record: it is no execution address of an activator that knows NDJSON, or the knowledge object takes NDJSON as one input`,
    );
  const digest = answer.headers.get(DIGEST_HEADER) ?? undefined;
  const location = answer.headers.get('content-location') ?? path;
  const id = location.replace(/^\//, '').split('?')[0] ?? '';
  const { schemas, notes } = await readSchemas(client, id);
  return { id, digest, schemas, notes };
}

export const isOfRecords = (type: string | null | undefined): boolean =>
  type?.split(';')[0]?.trim().toLowerCase() === RECORDS_TYPE;

const NO_SCHEMAS: EndpointSchemas = { request: undefined, result: undefined };

async function readSchemas(
  client: ActivatorClient,
  id: string,
): Promise<{ readonly schemas: EndpointSchemas; readonly notes: readonly string[] }> {
  const without = (why: string): { schemas: EndpointSchemas; notes: string[] } => ({
    schemas: NO_SCHEMAS,
    notes: [`No service descriptor of ${id} (${why}): text stays text, and results are JSON`],
  });
  const listed = await client.send(`/endpoints/${id}`);
  const where = fieldsOf(listed.body)['hasServiceSpecification'];
  if (listed.status !== 200 || typeof where !== 'string') return without(wordsOf(listed));
  const found: Answer = await client.send(`/${where.replace(/^\//, '')}`, { headers: { accept: '*/*' } });
  if (found.status !== 200) return without(wordsOf(found));
  const { parse } = await import('yaml');
  try {
    const document: unknown = typeof found.body === 'string' ? parse(found.body, { maxAliasCount: 100 }) : found.body;
    const path = `/${id.split('/').slice(3).join('/')}`;
    return { schemas: schemasOfEndpoint(document, path), notes: [] };
  } catch {
    return without('it cannot be read');
  }
}
