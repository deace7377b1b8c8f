/** Each version of a knowledge object as a Library of FHIR R4. */
import { createHash } from 'node:crypto';
import { typeOfFile } from '../../http/send-file.ts';
import { aboutKo, type AboutKo } from '../../knowledge-object/about-ko.ts';
import { type KoId, koKey } from '../../knowledge-object/id.ts';
import { type Fields, fieldsOf } from '../../lib/json.ts';
import { mediaTypeOf } from '../../lib/media-type.ts';
import { digestOf } from '../../lib/text.ts';
import type { KoPackage, ShelfEntry } from '../../shelf/shelf.ts';

/** FHIR: "[A-Za-z0-9\-\.]{1,64}". */
const MOST_ID = 64;
/** Bytes of all files whose content is hashed for an answer. */
const MOST_HASHED = 20 * 2 ** 20;
const MOST_CONTENTS = 200;

/** `naan-name-version`; the digest of it where that is too long. */
export function libraryId({ naan, name, version }: KoId): string {
  const id = `${naan}-${name}-${version}`;
  return id.length <= MOST_ID ? id : digestOf(id).slice(0, MOST_ID);
}

/** What searches look at. */
export interface LibraryFacts {
  readonly _id: string;
  readonly url: string;
  readonly name: string;
  readonly title: string;
  readonly version: string;
  readonly status: 'active' | 'draft';
}

const known = new WeakMap<ShelfEntry, AboutKo>();

function aboutOf(entry: ShelfEntry): AboutKo {
  let about = known.get(entry);
  if (about === undefined) known.set(entry, (about = aboutKo(entry.metadata)));
  return about;
}

/** `base`: address of the service. */
export function factsOf(entry: ShelfEntry, isActive: boolean, base: string): LibraryFacts {
  const { naan, name, version } = entry.id;
  return {
    _id: libraryId(entry.id),
    url: `${base}/kos/${naan}/${name}`,
    // "Name should be usable as an identifier for the module by machine processing applications."
    name: `${naan}_${name}`
      .replaceAll(/\W/g, '_')
      .replace(/^[^A-Za-z]/, 'K$&')
      .replace(/^[a-z]/, (letter) => letter.toUpperCase()),
    title: aboutOf(entry).title ?? `${naan}/${name}`,
    version,
    status: isActive ? 'active' : 'draft',
  };
}

/** The Library without its parameters and contents. */
export function libraryOf(entry: ShelfEntry, facts: LibraryFacts): Fields {
  const about = aboutOf(entry);
  const { _id, url, name, title, version, status } = facts;
  const publisher = about.creators[0] ?? about.contributors[0];
  const citations = about.evidence.flatMap((each) => {
    const text = [each.title, ...each.sources].filter((part) => part !== undefined).join('. ');
    const address = /https?:\/\/[^\s,;)]+/.exec(text)?.[0];
    return text === '' ? [] : [{ type: 'citation', citation: text, ...(address !== undefined && { url: address }) }];
  });
  return {
    resourceType: 'Library',
    id: _id,
    url,
    identifier: [{ system: 'urn:ietf:rfc:3986', value: `ark:/${koKey(entry.id)}` }],
    version,
    name,
    title,
    status,
    type: {
      coding: [
        {
          system: 'http://terminology.hl7.org/CodeSystem/library-type',
          code: 'logic-library',
          display: 'Logic Library',
        },
      ],
    },
    ...(about.date !== undefined && /^\d{4}(-\d\d(-\d\d)?)?$/.test(about.date) && { date: about.date }),
    ...(publisher !== undefined && publisher.trim() !== '' && { publisher }),
    ...(about.description !== undefined && about.description.trim() !== '' && { description: about.description }),
    ...(about.license !== undefined && { copyright: about.license }),
    ...(about.keywords.length > 0 && { topic: about.keywords.map((text) => ({ text })) }),
    ...(citations.length > 0 && { relatedArtifact: citations }),
  };
}

/** JSON Schema types and those of FHIR. */
const TYPES: Readonly<Record<string, string>> = {
  boolean: 'boolean',
  integer: 'integer',
  number: 'decimal',
  string: 'string',
};

/** `input`, `output`: schemas of an endpoint; null where nobody knows. */
export function parametersIn(input: Fields | null, output: Fields | null): object[] {
  const required = fieldsOf(input)['required'];
  const isRequired = (name: string): boolean => Array.isArray(required) && required.includes(name);
  const inputs = Object.entries(fieldsOf(fieldsOf(input)['properties'])).map(([name, schema]) => ({
    name,
    use: 'in',
    min: isRequired(name) ? 1 : 0,
    max: typesOf(schema).includes('array') ? '*' : '1',
    ...documentation(schema),
    type: typeOf(schema),
  }));
  const outputs = Object.entries(fieldsOf(fieldsOf(output)['properties']));
  const told = outputs.length > 0 ? outputs : [['return', output] as const];
  return [
    ...inputs,
    ...told.map(([name, schema]) => ({
      ...{ name, use: 'out', min: 0, max: typesOf(schema).includes('array') ? '*' : '1' },
      ...documentation(schema),
      type: typeOf(schema),
    })),
  ];
}

const typesOf = (schema: unknown): unknown[] => [fieldsOf(schema)['type']].flat();

function typeOf(schema: unknown): string {
  const fields = fieldsOf(schema);
  const [type] = typesOf(typesOf(fields).includes('array') ? fields['items'] : fields).filter(
    (each) => each !== 'null',
  );
  if (type === 'string' && fields['format'] === 'date') return 'date';
  if (type === 'string' && fields['format'] === 'date-time') return 'dateTime';
  return TYPES[String(type)] ?? 'Any';
}

function documentation(schema: unknown): object {
  const { description } = fieldsOf(schema);
  return typeof description === 'string' && description.trim() !== '' ? { documentation: description.trim() } : {};
}

/** The files of a package as attachments; "hash: SHA-1, base64". */
export async function contentsOf(pkg: KoPackage, address: string): Promise<object[]> {
  let left = MOST_HASHED;
  const contents: object[] = [];
  for (const { path, size } of [...pkg.files.values()].slice(0, MOST_CONTENTS)) {
    left -= size;
    contents.push({
      contentType: mediaTypeOf(await typeOfFile(path)),
      url: `${address}/${path.split('/').map(encodeURIComponent).join('/')}`,
      size,
      title: path,
      ...(left >= 0 && {
        hash: createHash('sha1')
          .update(await pkg.read(path))
          .digest('base64'),
      }),
    });
  }
  return contents;
}
