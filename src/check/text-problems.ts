/** Files that must be text in UTF-8, and are not: what is read of them all the same is not what their author wrote. */
import { isUtf8 } from 'node:buffer';
import { METADATA_FILE } from '../knowledge-object/metadata.ts';
import type { CheckedService } from '../shelf/import/check-package.ts';
import { ENGINES } from './engines.ts';
import { problem } from './findings.ts';
import type { Finding } from './findings.ts';
import type { Inspection } from './inspect.ts';
import { readSource } from './ko-source.ts';
import type { KoSource } from './ko-source.ts';
import { EXAMPLES_FILE } from '../knowledge-object/worked-examples.ts';

const CODE = /\.([cm]?[jt]s|json|py)$/;

export async function textProblems(
  source: KoSource,
  services: readonly CheckedService[],
  descriptors: Inspection['descriptors'],
): Promise<Finding[]> {
  const entries = services.flatMap(({ deployment }) => [...deployment.endpoints.values()].flat());
  // What is served as it is may be in any encoding.
  const code = entries
    .filter(({ engine }) => ENGINES.get(engine)?.method !== 'get')
    .flatMap(({ artifacts }) => artifacts);
  const texts = new Set([
    METADATA_FILE,
    EXAMPLES_FILE,
    ...descriptors.services,
    ...descriptors.deployments,
    ...code.filter((path) => CODE.test(path)),
  ]);
  const findings: Finding[] = [];
  for (const path of texts) {
    if (!source.files.has(path)) continue;
    const line = badLine(await readSource(source, path));
    if (line !== undefined) findings.push(problem(path, line, 'not UTF-8 text: save it as UTF-8'));
  }
  return findings;
}

const LINE_FEED = 0x0a;

/** The first line that is not UTF-8 text, from 1. UTF-16 without a mark has a zero in each letter. */
function badLine(content: Buffer): number | undefined {
  if (isText(content)) return undefined;
  for (let line = 1, start = 0; ; line++) {
    const end = content.indexOf(LINE_FEED, start);
    if (end === -1 || !isText(content.subarray(start, end))) return line;
    start = end + 1;
  }
}

const isText = (content: Buffer): boolean => isUtf8(content) && !content.includes(0);
