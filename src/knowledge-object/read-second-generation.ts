/** Reads what metadata of the second generation says: JSON-LD, in the spellings that people use. */
import { parseArk, parseKoId } from './id.ts';
import type { KoId } from './id.ts';
import { sourceOfNumber } from './json-place.ts';
import { librariesOf } from './libraries.ts';
import { contextsOf } from './linked-data.ts';
import type { LinkedObject } from './linked-data.ts';
import type { MetadataParts, MetadataSource } from './metadata-parts.ts';
import { METADATA_FILE } from './metadata-text.ts';
import { withoutEndSlashes } from '../lib/text.ts';
import { withoutDot } from './package-path.ts';
import { atIdProblem, placeOf, plainAtId, threeParts } from './places.ts';
import { defined, written } from './read-first-generation.ts';
import { activationServices, namedService } from './service-refs.ts';
import type { ServiceRef } from './service-refs.ts';

/** "When its metadata holds any of its marks (`koio:kgrid`, a `dc:` term, `hasService`, `hasKnowledge`, a `@context` that names koio/2.x)." */
export const isSecondGeneration = ({ fields, root }: Pick<MetadataSource, 'fields' | 'root'>): boolean =>
  root.speaks('dc') ||
  ['kgrid', 'hasService', 'hasKnowledge'].some((term) => root.find(term, ['koio', '']) !== undefined) ||
  contextsOf(fields).some((context) => CONTEXT.test(context));

const CONTEXT = /\/koio\/2(?:\.|\/|$)/;

/** "The version from `dc:version`, `version`, or `v1.0`." */
const DC_FIRST = ['dc', '', 'koio', 'schema'] as const;

/** The first generation's form of a version: `v<major>.<minor>`. */
const VERSION = /^v\d+(?:\.\d+)*$/;

export function readSecondGeneration(source: MetadataSource, defaultNaan: string | undefined): MetadataParts {
  const { root, text } = source;
  const atId = atIdOf(source);
  const spelled = root.find('version', DC_FIRST);
  const version =
    typeof spelled?.value === 'number' ? sourceOfNumber(text, spelled.key) : root.text('version', DC_FIRST);
  const identifiers = root.texts('identifier', DC_FIRST);
  const id = atId === undefined ? undefined : placeOf(atId, { version, defaultNaan });
  return {
    id,
    atId,
    generation: 2,
    ...defined('identifier', identifiers[0]),
    ...defined('version', version),
    ...defined('title', root.text('title', DC_FIRST)),
    ...defined('description', root.text('description', DC_FIRST)),
    claims: {
      ...(id === undefined || atId === undefined || threeParts(atId) === undefined
        ? { identifiers: [] }
        : claimed(id, identifiers, version)),
      addresses: atId === undefined ? [] : addressesOf(atId),
    },
    services: servicesOf(root),
    libraries: librariesOf(root),
    hasDefaults: true,
  };
}

/** "Identifier and version need agree only where they have the first generation's form." */
const claimed = (
  id: KoId,
  identifiers: readonly string[],
  version: string | undefined,
): { identifiers: string[]; version?: string } => ({
  identifiers: identifiers.filter((each) => idIn(each) !== undefined),
  ...defined('version', version !== undefined && VERSION.test(version) ? versionLike(id.version, version) : undefined),
});

/** `1.0` at the end of an `@id` names the same as `v1.0`. */
const versionLike = (own: string, version: string): string => (`v${own}` === version ? own : version);

/** "`servers[0].url` may be `/endpoints/<@id>`, `/<@id>`": also with what stands in front of the `@id`. */
const addressesOf = (atId: string): string[] =>
  [...new Set([plainAtId(atId), withoutEndSlashes(atId)])].flatMap((each) => [`/endpoints/${each}`, `/${each}`]);

const idIn = (identifier: string): KoId | undefined => parseArk(identifier) ?? parseKoId(identifier);

function atIdOf({ fields, report }: MetadataSource): string | undefined {
  const value = fields['@id'];
  if (value === undefined || value === null) {
    const inGraph = fields['@graph'] === undefined ? '' : '; what stands in @graph is not read';
    report('@id', `${METADATA_FILE} has no @id: add "@id" with the name of the knowledge object${inGraph}`);
    return undefined;
  }
  const problem = typeof value === 'string' ? atIdProblem(value) : `is ${written(value)}; it must be a text`;
  if (problem !== undefined) {
    report('@id', `@id in ${METADATA_FILE} ${problem}`);
    return undefined;
  }
  return value as string;
}

function servicesOf(root: LinkedObject): readonly ServiceRef[] {
  const named = {
    service: pathOf(root, 'hasServiceSpecification'),
    deployment: pathOf(root, 'hasDeploymentSpecification'),
  };
  const services = activationServices(named, root);
  if (named.deployment === undefined && services.length > 0) return services;
  return [namedService({ ...named, service: named.service ?? services[0]?.specification }, root)];
}

function pathOf(root: LinkedObject, term: string): string | undefined {
  const path = withoutDot(root.text(term) ?? '');
  return path === '' ? undefined : path;
}
