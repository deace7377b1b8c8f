/** What `create` leaves to the author to say. */
import { METADATA_FILE } from '../knowledge-object/metadata.ts';
import { warning } from './findings.ts';
import type { Finding } from './findings.ts';
import type { Inspection } from './inspect.ts';
import { readSource } from './ko-source.ts';
import type { KoSource } from './ko-source.ts';

/** A line of a template, with the field where it stands in one. */
const TEMPLATE_TEXT = /^\s*(?:"?(?<field>[\w:]+)"?\s*:\s*)?"?Say here what /;

export async function templateTexts(source: KoSource, { services }: Inspection['descriptors']): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const path of [METADATA_FILE, ...services, 'README.md']) {
    if (!source.files.has(path)) continue;
    for (const [i, line] of (await readSource(source, path)).toString('utf8').split('\n').entries()) {
      const found = TEMPLATE_TEXT.exec(line);
      if (found === null) continue;
      const what = found.groups?.['field'] ?? 'this text';
      findings.push(warning(path, i + 1, `${what} is still that of the template: say it in words of your own`));
    }
  }
  return findings;
}
