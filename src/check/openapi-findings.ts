/**
 * Whether a service descriptor is OpenAPI 3.0 or 3.1. An activator reads little of it, so that what is wrong here is
 * no problem of activation: forms, clients and people trip over it.
 */
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { wordLike } from '../lib/did-you-mean.ts';
import { type Fields, fieldsOf, isObject } from '../lib/json.ts';
import { type Finding, type PlacedData, warning } from './findings.ts';
import { innerSchemas, type SchemaError, schemaErrors, schemasOf } from './schema-errors.ts';

const MOST_NAMED = 50;

export const makeValidator = (): Validator => new Validator({ allErrors: true, verbose: true });

/** @param validator which compiles the schema of OpenAPI once, of `makeValidator`. */
export async function openapiFindings(placed: PlacedData, file: string, validator: Validator): Promise<Finding[]> {
  if (!isObject(placed.value)) return [];
  const at = (path: readonly string[], message: string): Finding => warning(file, placed.lineOf(path), message);
  const version = placed.sourceOf(['openapi']);
  if (version === undefined || !/^3\.[01]\.\d/.test(version)) return [at(...versionProblem(placed, version))];
  const document = withTexts(placed, placed.value, version);
  const { errors = [] } = await validator.validate(structuredClone(document));
  const found: SchemaError[] = [
    // A text is about references, which are checked elsewhere: those that lead out of the file are no fault.
    ...schemaErrors(typeof errors === 'string' ? [] : errors),
    ...(version.startsWith('3.1') ? schemaProblems(document) : []),
  ].filter(({ path, message }) => !(path[0] === 'paths' && path.length === 2 && /is no key here/.test(message)));
  const named = found.slice(0, MOST_NAMED).map(({ path, message }) => at(path, message));
  return found.length > named.length
    ? [...named, at([], `there are ${found.length - named.length} more like these`)]
    : named;
}

function versionProblem(placed: PlacedData, version: string | undefined): [string[], string] {
  const swagger = placed.sourceOf(['swagger']);
  if (swagger !== undefined)
    return [
      ['swagger'],
      `this is Swagger ${swagger}, not OpenAPI 3: convert it, so that it begins with "openapi: 3.0.3"`,
    ];
  if (version === undefined) return [[], 'openapi is missing: add "openapi: 3.0.3"'];
  return [['openapi'], `openapi is ${version}: write the version as 3.0.3 or 3.1.0, which are understood`];
}

/** "Versions are text": `version: 1.0` is not a number. */
function withTexts({ sourceOf }: PlacedData, value: Fields, openapi: string): Fields {
  const { info } = value;
  const version = sourceOf(['info', 'version']);
  return { ...value, openapi, ...(isObject(info) && version !== undefined ? { info: { ...info, version } } : {}) };
}

/** OpenAPI 3.1 leaves its schemas to JSON Schema 2020-12. */
function schemaProblems(document: Fields): SchemaError[] {
  const ajv = new Ajv2020({ strict: false, allErrors: true, verbose: true, logger: false });
  const known = keywordsOf(ajv);
  return [...schemasOf(document)].flatMap(({ path, schema }) => {
    const isRight = ajv.validateSchema(schema as never) === true;
    const errors = isRight ? [] : schemaErrors(ajv.errors ?? []);
    const mistakes = [...innerSchemas({ path: [], schema })].flatMap((inner) =>
      Object.keys(fieldsOf(inner.schema)).flatMap((key) => {
        const meant = known.has(key) || key.startsWith('x-') ? undefined : wordLike(key, known);
        return meant === undefined
          ? []
          : [{ path: [...inner.path, key], message: `"${key}" is no key here: did you mean ${meant}?` }];
      }),
    );
    return [...errors, ...mistakes].map((each) => ({ ...each, path: [...path, ...each.path] }));
  });
}

const OF_OPENAPI = ['discriminator', 'xml', 'externalDocs', 'example'];

function keywordsOf(ajv: Ajv2020): ReadonlySet<string> {
  const vocabularies = Object.values(ajv.schemas).map((each) => fieldsOf(fieldsOf(each?.schema)['properties']));
  return new Set([...OF_OPENAPI, ...vocabularies.flatMap((each) => Object.keys(each))]);
}
