/** Packages of which every byte names its KO, its generation and its file: a mixture of two shows. */

export type Files = Readonly<Record<string, string>>;

/** `hello/world/v1` and the like. */
export type Id = string;

/** What a KO on the shelf consists of: the generation of its files, and that of its metadata. */
export interface State {
  readonly files: number;
  readonly metadata: number;
}

/** Of later generations some files are gone and others are new. */
export function filesOf(id: Id, generation: number): Files {
  const line = (path: string): string => `${id} ${path} generation ${String(generation)}\n`;
  const paths = ['a.js', 'src/deep/b.js', `src/only-${String(generation)}.js`, `c-${String(generation % 3)}.txt`];
  return Object.fromEntries(paths.map((path) => [path, line(path).repeat(200)]));
}

export const metadataOf = (id: Id, generation: number): string =>
  JSON.stringify({ '@id': id, generation, description: 'x'.repeat(2000) });

export const generationOf = (metadata: string): number => (JSON.parse(metadata) as { generation: number }).generation;
