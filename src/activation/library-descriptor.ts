/** The service descriptor of a library, which its author did not write: any JSON goes in and out. */
import type { KoId } from '../knowledge-object/id.ts';
import type { KoMetadata } from '../knowledge-object/metadata.ts';

export interface LibraryOperation {
  /** With a leading slash. */
  readonly path: string;
  /** Of its service, as the metadata say it. */
  readonly description: string | undefined;
  /** It stands for a file whose functions are not known. */
  readonly isFile?: boolean;
}

export interface DescribedLibrary {
  readonly id: KoId;
  readonly apiVersion: string;
  readonly details: Pick<KoMetadata, 'title' | 'description'>;
  readonly operations: readonly LibraryOperation[];
}

/** OpenAPI, as JSON, which is YAML too. */
export function libraryDescriptor({ id, apiVersion, details, operations }: DescribedLibrary): string {
  const { title = id.name, description } = details;
  const json = (schema: unknown): unknown => ({ 'application/json': { schema } });
  const paths = operations.map((each) => {
    const name = each.path.slice(1);
    const post = {
      operationId: name,
      summary: each.isFile === true ? `The library ${name}, whose functions are not known` : `The function ${name}`,
      ...(each.description === undefined ? {} : { description: each.description }),
      requestBody: { required: true, content: json({ description: 'The argument of the function: any JSON' }) },
      responses: {
        200: {
          description: 'What the function returns',
          content: json({
            type: 'object',
            required: ['result', 'info'],
            properties: { result: { description: 'Any JSON' }, info: { type: 'object' } },
          }),
        },
      },
    };
    return [each.path, { post }] as const;
  });
  return `${JSON.stringify(
    {
      openapi: '3.0.3',
      info: { title, ...(description === undefined ? {} : { description }), version: apiVersion },
      servers: [{ url: `/${id.naan}/${id.name}/${apiVersion}` }],
      paths: Object.fromEntries(paths),
    },
    undefined,
    2,
  )}\n`;
}
