/** Reads a knowledge object and finds what import and agreement would say of it, all at once; runs nothing. */
import { posix, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { endpointProblems, koProblems, timeoutProblem } from '../activation/agreement.ts';
import { LoadedKo } from '../activation/loaded-ko.ts';
import { withEngineNames } from '../engines/table.ts';
import type { Deployment, DeploymentEntry } from '../knowledge-object/descriptors/deployment.ts';
import { koKey } from '../knowledge-object/id.ts';
import type { KoMetadata } from '../knowledge-object/metadata.ts';
import { METADATA_FILE, metadataProblem } from '../knowledge-object/metadata.ts';
import type { PackageProblem } from '../lib/errors.ts';
import { inspectPackage } from '../shelf/import/check-package.ts';
import type { CheckedService, InspectedPackage } from '../shelf/import/check-package.ts';
import { DEFAULT_PACKAGE_LIMITS } from '../shelf/import/limits.ts';
import type { KoPackage } from '../shelf/shelf.ts';
import { bytes } from '../shelf/archive/archive.ts';
import { authorWarnings } from './author-warnings.ts';
import { descriptorWarnings } from './descriptor-warnings.ts';
import { engineLike, ENGINES, foreignEngine } from './engines.ts';
import type { EngineFacts } from './engines.ts';
import { exampleProblems } from './example-problems.ts';
import { problem, sorted, warning } from './findings.ts';
import type { Finding } from './findings.ts';
import { publicFileWarnings } from './public-files.ts';
import { readSource } from './ko-source.ts';
import type { KoSource } from './ko-source.ts';
import { templateTexts } from './template-texts.ts';
import { textProblems } from './text-problems.ts';
import { EXAMPLES_FILE, parseWorkedExamples } from '../knowledge-object/worked-examples.ts';
import type { WorkedExample } from '../knowledge-object/worked-examples.ts';

export interface Inspection {
  readonly source: KoSource;
  /** Present where it can be read, whatever else is wrong. */
  readonly metadata?: KoMetadata;
  /** Those whose descriptors can be read. */
  readonly services: readonly CheckedService[];
  /** The paths of all descriptors that are there. */
  readonly descriptors: { readonly services: readonly string[]; readonly deployments: readonly string[] };
  /** Present when the package can be imported. */
  readonly ko?: LoadedKo;
  readonly examples: readonly WorkedExample[];
  /** Sorted. */
  readonly findings: readonly Finding[];
}

/** Nothing of it can be read. */
const NONE: Inspection['descriptors'] = { services: [], deployments: [] };

/** What a service gives unless its operator says otherwise. */
const MOST_TIMEOUT_MS = 10 * 60_000;

export async function inspect(source: KoSource): Promise<Inspection> {
  if (source.damage !== undefined) {
    return { source, services: [], descriptors: NONE, examples: [], findings: [problem('', undefined, source.damage)] };
  }
  const read = (path: string): Promise<Buffer> => readSource(source, path);
  const found = await inspectPackage(read, source.files, DEFAULT_PACKAGE_LIMITS);
  const findings = [
    ...sizeProblems(source),
    ...found.problems.map(({ file, line, message }) => problem(file, line, withReason(message, source))),
  ];
  const ko = await loadedKo(source, found, read);
  const { examples, problems } = source.files.has(EXAMPLES_FILE)
    ? parseWorkedExamples((await read(EXAMPLES_FILE)).toString('utf8'))
    : { examples: [], problems: [] };
  findings.push(...problems.map(({ file, line, message }) => problem(file, line, message)));
  if (ko !== undefined) {
    const disagreements = [
      ...koProblems(ko),
      ...ko.declared.flatMap(({ from, entry }) => withMeant(entry, endpointProblems(from, entry, enginesFor(entry)))),
    ];
    findings.push(...disagreements.map(({ file, line, message }) => problem(file, line, withReason(message, source))));
    for (const { from, entry } of ko.declared) {
      const late = timeoutProblem(from, entry, MOST_TIMEOUT_MS);
      // Code for the engine javascript is activated here, which says it.
      if (late !== undefined && entry.engine !== 'javascript')
        findings.push(warning(from.deployment.file, entry.line, late));
    }
    findings.push(...exampleProblems(ko, examples));
    findings.push(...authorWarnings(ko, source, examples));
  }
  const descriptors = {
    services: [...new Set([...found.named, ...found.deployed.map(({ service }) => service)])],
    deployments: found.deployed.map(({ deployment }) => deployment),
  };
  findings.push(...(await descriptorWarnings(source, descriptors)));
  findings.push(...(await templateTexts(source, descriptors)));
  findings.push(...publicFileWarnings(source));
  const garbled = await textProblems(source, found.services, descriptors);
  const readable = findings.filter(({ file }) => garbled.every((each) => each.file !== file));
  return {
    source,
    ...(found.metadata === undefined ? {} : { metadata: found.metadata }),
    services: found.services.map((each) => ({ ...each, deployment: withEngineNames(each.deployment) })),
    descriptors,
    ...(ko === undefined || found.problems.length > 0 ? {} : { ko }),
    examples,
    // What else is said of a file that is no text only follows from that.
    findings: sorted([...readable, ...garbled]),
  };
}

/**
 * Each place once, in their order. Those of one id cannot be on one shelf: they are examined by their files, none is
 * activated.
 */
export async function inspectAll(sources: readonly KoSource[]): Promise<Inspection[]> {
  const places = new Set<string>();
  const isFirst = ({ path }: KoSource): boolean => places.size < places.add(resolve(path)).size;
  const inspections = await Promise.all(sources.filter(isFirst).map(inspect));
  const ofOneId = Map.groupBy(inspections, ({ metadata }) => (metadata === undefined ? undefined : koKey(metadata.id)));
  return inspections.map((each) => {
    if (each.metadata === undefined) return each;
    const { source, metadata, services, descriptors, examples, findings } = each;
    const key = koKey(metadata.id);
    const duplicate = ofOneId.get(key)?.find((other) => other !== each);
    if (duplicate === undefined) return each;
    const words = `@id is ${key}, as in ${duplicate.source.label}: give one of them another name or version`;
    const { line } = metadataProblem(metadata.text, '@id', words);
    return {
      source,
      metadata,
      services,
      descriptors,
      examples,
      findings: sorted([...findings, problem(METADATA_FILE, line, words)]),
    };
  });
}

/** Runtimes of other engines may register at an activator; only what looks like a slip of the pen is a problem. */
function enginesFor(entry: DeploymentEntry): ReadonlyMap<string, Pick<EngineFacts, 'name' | 'method'>> {
  const { engine: name } = entry;
  if (foreignEngine(entry) === undefined) return ENGINES;
  return new Map([...ENGINES, [name, { name, method: 'post', builtIn: false }]]);
}

/** Says which engine was meant where the name of one is a slip of the pen. */
function withMeant({ engine }: DeploymentEntry, problems: readonly PackageProblem[]): PackageProblem[] {
  const meant = engineLike(engine);
  return problems.map((each) =>
    meant !== undefined && meant !== engine && each.message.startsWith(`engine ${engine} `)
      ? { ...each, message: `${each.message}; did you mean ${meant}?` }
      : each,
  );
}

export const entriesOf = (deployment: Deployment): DeploymentEntry[] => [...deployment.endpoints.values()].flat();

/** Also where artifacts are missing: its descriptors can be compared all the same. */
async function loadedKo(
  source: KoSource,
  { metadata, services, deployed }: InspectedPackage,
  read: (path: string) => Promise<Buffer>,
): Promise<LoadedKo | undefined> {
  if (metadata === undefined || services.length < deployed.length) return undefined;
  const pkg = packageOf(source, metadata, (await read(METADATA_FILE)).toString('utf8'));
  return LoadedKo.load(pkg, { servesLibraries: true });
}

/** The files of a source as a package that is open. */
export function packageOf(source: KoSource, { id }: KoMetadata, metadata: string): KoPackage {
  const read = (path: string): Promise<Buffer> => readSource(source, path);
  return {
    entry: { id, metadata, digest: '', etag: '' },
    files: source.files,
    digestOf: () => undefined,
    read,
    stream: async (path) => Readable.from([await read(path)]),
    release: () => undefined,
  };
}

function sizeProblems({ files }: KoSource): Finding[] {
  const { entries, file: largest, unpacked } = DEFAULT_PACKAGE_LIMITS;
  const all = [...files.values()];
  const total = all.reduce((sum, { size }) => sum + size, 0);
  const tooLarge = all.filter(({ size }) => size > largest);
  return [
    ...tooLarge.map(({ path, size }) =>
      problem(path, undefined, `has ${bytes(size)}; a file of a package may have ${bytes(largest)}: make it smaller`),
    ),
    ...(total > unpacked
      ? [problem('', undefined, `The package has ${bytes(total)}; it may have ${bytes(unpacked)}: leave files out`)]
      : []),
    ...(all.length > entries
      ? [problem('', undefined, `The package has ${all.length} files; it may have ${entries}: leave files out`)]
      : []),
  ];
}

/** A file that is there but stays behind is missing for another reason; one that is there under another path was meant. */
function withReason(message: string, { files, leftOut }: KoSource): string {
  const left = leftOut.find(({ path }) => message.startsWith(path));
  if (left !== undefined) return `${message} (${left.path} is left out of packages: ${left.why})`;
  const missing = message.includes(' is not in the package') ? message.split(', named by ', 1)[0] : undefined;
  const nameOf = (path: string): string => posix.basename(path).toLowerCase();
  const meant = [...files.keys()].find((path) => missing !== undefined && nameOf(path) === nameOf(missing));
  return meant === undefined ? message : `${message}; there is ${meant}`;
}
