/** Reads what metadata of the first generation says: fields of one object, each of one type. */
import { NEVER_NAANS, parseKoId } from './id.ts';
import type { KoId } from './id.ts';
import { sourceOfNumber } from './json-place.ts';
import type { Fields } from '../lib/fields.ts';
import { METADATA_FILE } from './metadata-text.ts';
import type { MetadataParts, MetadataSource, Report } from './metadata-parts.ts';
import { withoutDot } from './package-path.ts';
import { namedService } from './service-refs.ts';
import { escapeForMessage } from './escape-for-message.ts';

export function readFirstGeneration({ fields, root, text, report }: MetadataSource): MetadataParts {
  const id = idOf(fields, report);
  const identifier = textField(fields, 'identifier', report);
  const version =
    typeof fields['version'] === 'number' ? sourceOfNumber(text, 'version') : textField(fields, 'version', report);
  const service = pathField(fields, 'hasServiceSpecification', report);
  const deployment = pathField(fields, 'hasDeploymentSpecification', report);
  return {
    id,
    atId: looseText(fields['@id']),
    generation: 1,
    ...defined('identifier', identifier),
    ...defined('version', version),
    ...defined('title', looseText(fields['title'])),
    ...defined('description', looseText(fields['description'])),
    claims: {
      identifiers: identifier === undefined ? [] : [identifier],
      ...defined('version', version),
      addresses: [],
    },
    services: [namedService({ service, deployment }, root)],
    hasDefaults: false,
  };
}

function idOf(fields: Fields, report: Report): KoId | undefined {
  const value = fields['@id'];
  if (value === undefined) {
    report('@id', `${METADATA_FILE} has no @id: add "@id": "<naan>/<name>/<version>"`);
    return undefined;
  }
  const id = typeof value === 'string' ? parseKoId(value) : undefined;
  if (id === undefined) {
    report(
      '@id',
      `@id in ${METADATA_FILE} is ${written(value)}; it must be "<naan>/<name>/<version>", each part 1 to 64 letters, digits and periods`,
    );
  } else if (NEVER_NAANS.has(id.naan)) {
    report('@id', `@id in ${METADATA_FILE} has the naan "${id.naan}", which is a path of this service: choose another`);
  }
  return id;
}

export function written(value: unknown): string {
  try {
    return escapeForMessage(JSON.stringify(value));
  } catch {
    return 'nested too deeply';
  }
}

/** Empty when it was reported. */
function textField(fields: Fields, name: string, report: Report): string | undefined {
  const value = fields[name];
  if (value === undefined || value === null || typeof value === 'string') return value ?? undefined;
  report(name, `${name} in ${METADATA_FILE} must be a string`);
  return '';
}

/** Empty when it was reported. */
function pathField(fields: Fields, name: string, report: Report): string | undefined {
  const text = textField(fields, name, report);
  const path = text === undefined ? undefined : withoutDot(text);
  if (path === '' && typeof fields[name] === 'string')
    report(name, `${name} in ${METADATA_FILE} is empty: it must be the path of a file`);
  return path;
}

const looseText = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

export const defined = <K extends string>(key: K, value: string | undefined): Partial<Record<K, string>> =>
  value === undefined ? {} : ({ [key]: value } as Partial<Record<K, string>>);
