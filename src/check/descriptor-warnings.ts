/** What the texts of descriptors say that nobody reads: it is no error, and not what was meant. */
import { isMap, isScalar, visit } from 'yaml';
import { pointerKey } from '../knowledge-object/descriptors/service.ts';
import { parseYaml } from '../knowledge-object/descriptors/yaml-document.ts';
import type { YamlDocument } from '../knowledge-object/descriptors/yaml-document.ts';
import { METADATA_FILE } from '../knowledge-object/metadata.ts';
import { ServiceError } from '../lib/errors.ts';
import { warning } from './findings.ts';
import type { Finding } from './findings.ts';
import type { Inspection } from './inspect.ts';
import { readSource } from './ko-source.ts';
import type { KoSource } from './ko-source.ts';
import { EXAMPLES_FILE } from '../knowledge-object/worked-examples.ts';

export async function descriptorWarnings(
  source: KoSource,
  { services, deployments }: Inspection['descriptors'],
): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const path of new Set([METADATA_FILE, ...services, ...deployments, EXAMPLES_FILE])) {
    if (!source.files.has(path)) continue;
    findings.push(...warningsOf((await readSource(source, path)).toString('utf8'), path, services.includes(path)));
  }
  return findings;
}

/** Gives the warnings of a YAML or JSON text; none where it cannot be read, which is a problem already. */
function warningsOf(text: string, file: string, isService: boolean): Finding[] {
  try {
    const parsed = parseYaml(text, file);
    return [
      ...repeatedKeys(parsed, file),
      ...(isService ? [...brokenReferences(parsed, file), ...pathsWithoutSlash(parsed, file)] : []),
    ];
  } catch (thrown) {
    // What is endless by its aliases is a ReferenceError.
    if (thrown instanceof ServiceError || thrown instanceof ReferenceError) return [];
    throw thrown;
  }
}

function repeatedKeys({ document, line }: YamlDocument, file: string): Finding[] {
  const found: Finding[] = [];
  visit(document, {
    Map: (_, { items }) => {
      const lines = new Map<string, number>();
      for (const { key } of items) {
        if (!isScalar(key) || key.source === undefined || key.source === '<<') continue;
        const before = lines.get(key.source);
        const at = line(key);
        if (before !== undefined) {
          const message = `"${key.source}" stands in line ${before} already: only the last one counts, take one of them out`;
          found.push(warning(file, at, message));
        }
        lines.set(key.source, at);
      }
    },
  });
  return found;
}

/** Local ones; others are not looked at. */
function brokenReferences({ document, line }: YamlDocument, file: string): Finding[] {
  const found: Finding[] = [];
  const whole: unknown = document.toJS();
  visit(document, {
    Pair: (_, { key, value }) => {
      if (!isScalar(key) || key.value !== '$ref' || !isScalar(value) || typeof value.value !== 'string') return;
      if (!value.value.startsWith('#/') || leadsSomewhere(whole, value.value)) return;
      found.push(warning(file, line(value), `${value.value} is not in this file: add it or correct the name`));
    },
  });
  return found;
}

function leadsSomewhere(whole: unknown, reference: string): boolean {
  let at = whole;
  for (const part of reference.slice(2).split('/')) {
    const key = pointerKey(part);
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, key)) return false;
    at = (at as Record<string, unknown>)[key];
  }
  return true;
}

/** They are called like the others; but OpenAPI knows no such paths, nor do the forms that are made from it. */
function pathsWithoutSlash({ document, resolve, line }: YamlDocument, file: string): Finding[] {
  const paths = resolve(document.get('paths', true));
  if (!isMap(paths)) return [];
  return paths.items.flatMap(({ key }) => {
    if (!isScalar(key) || key.source === undefined || /^(\/|x-|<<)/.test(key.source)) return [];
    return [warning(file, line(key), `the path ${key.source} has no slash in front: write /${key.source}`)];
  });
}
