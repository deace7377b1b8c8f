/** Reads a knowledge object and finds what import and agreement would say of it, all at once; runs nothing. */
import { isUtf8 } from 'node:buffer';
import { posix, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { endpointProblems, koProblems, timeoutProblem } from '../activation/agreement.ts';
import { LoadedKo, type LoadedService } from '../activation/loaded-ko.ts';
import { withEngineNames } from '../engines/table.ts';
import type { Deployment, DeploymentEntry } from '../knowledge-object/descriptors/deployment.ts';
import { HOOKS_FILE, parseHooks } from '../knowledge-object/descriptors/hooks.ts';
import { isEndpointPart, koKey } from '../knowledge-object/id.ts';
import { METADATA_FILE, metadataProblem, type KoMetadata } from '../knowledge-object/metadata.ts';
import { withoutDot } from '../knowledge-object/package-path.ts';
import { EXAMPLES_FILE, parseWorkedExamples, type WorkedExample } from '../knowledge-object/worked-examples.ts';
import { type PackageProblem, ServiceError } from '../lib/errors.ts';
import { bytes, DEFAULT_PACKAGE_LIMITS } from '../shelf/archive/archive.ts';
import { type CheckedService, type InspectedPackage, inspectPackage } from '../shelf/import/check-package.ts';
import type { KoPackage } from '../shelf/shelf.ts';
import { descriptorWarnings } from './descriptor-warnings.ts';
import { engineLike, ENGINES, foreignEngine, type EngineFacts } from './engines.ts';
import { exampleProblems } from './example-problems.ts';
import { problem, sorted, warning, type Finding } from './findings.ts';
import { readSource, type KoSource } from './ko-source.ts';

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
    findings.push(...(await hookProblems(source, ko, read)));
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

/** What keeps its CDS services from being offered, but for their code. */
async function hookProblems(
  source: KoSource,
  ko: LoadedKo,
  read: (path: string) => Promise<Buffer>,
): Promise<Finding[]> {
  if (!source.files.has(HOOKS_FILE)) return [];
  try {
    const services = parseHooks((await read(HOOKS_FILE)).toString('utf8'));
    return services.flatMap(({ line, endpoint, code }) => [
      ...(source.files.has(code) ? [] : [problem(HOOKS_FILE, line, `the code ${code} is not in the package`)]),
      ...(ko.declared.some(({ entry }) => entry.path === endpoint && entry.method === 'post')
        ? []
        : [problem(HOOKS_FILE, line, `the endpoint ${endpoint} is not deployed with post`)]),
    ]);
  } catch (thrown) {
    if (!(thrown instanceof ServiceError)) throw thrown;
    const [first] = thrown.problems;
    return [problem(HOOKS_FILE, first?.line, first?.message ?? thrown.message)];
  }
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

/** What an author probably did not mean, though it would run. */
function authorWarnings(ko: LoadedKo, source: KoSource, examples: readonly WorkedExample[]): Finding[] {
  return [
    ...metadataWarnings(ko, source),
    ...ko.services.flatMap((each) => serviceWarnings(ko, each)),
    ...exampleWarnings(ko, source, examples),
  ];
}

function metadataWarnings({ details, key, declared }: LoadedKo, { files }: KoSource): Finding[] {
  const found: Finding[] = [];
  const warn = (field: string, message: string): unknown =>
    found.push(warning(METADATA_FILE, metadataProblem(details.text, field, message).line, message));
  // The second generation has no word for it.
  const { hasPayload = details.generation === 1 ? undefined : '' } = JSON.parse(details.text) as Record<
    string,
    unknown
  >;
  const entry = declared[0]?.entry.entry ?? 'src/index.js';
  if (hasPayload === undefined)
    warn('hasPayload', `hasPayload is missing: add "hasPayload": "${entry}", the main code file`);
  // Where the deployment names the same file, that it is missing is a problem already.
  else if (
    typeof hasPayload === 'string' &&
    hasPayload !== '' &&
    ![...files.keys(), entry].includes(withoutDot(hasPayload))
  )
    warn(
      'hasPayload',
      `hasPayload names ${hasPayload}, which is not in the package: name the main code file, such as ${entry}`,
    );
  if (details.generation === 1 && details.identifier === undefined)
    warn('identifier', `identifier is missing: add "identifier": "ark:/${key}"`);
  if (details.version === undefined) {
    const term = details.generation === 1 ? 'version' : 'dc:version';
    warn('version', `version is missing: add "${term}": "${key.split('/')[2] ?? ''}"`);
  }
  if (details.title === undefined) warn('title', 'title is missing: lists show the id in its place');
  if (details.description === undefined)
    warn('description', 'description is missing: say what the result means, and for whom');
  return found;
}

function serviceWarnings({ id }: LoadedKo, { service, deployment }: LoadedService): Finding[] {
  const { file } = service;
  const found: Finding[] = [];
  if (service.apiVersion === undefined) {
    found.push(
      warning(file, undefined, `info.version is missing: the version in the addresses of endpoints is ${id.version}`),
    );
  } else if (!isEndpointPart(service.apiVersion)) {
    const line = service.lines.apiVersion;
    found.push(
      warning(
        file,
        line,
        `info.version is "${service.apiVersion}", which cannot stand in an address: use letters, digits and . _ ~ -`,
      ),
    );
  }
  for (const [path, { methods, line }] of service.paths) {
    const entries = deployment.endpoints.get(path) ?? [];
    if (entries.length === 0) {
      found.push(
        warning(file, line, `${path} is described here but not deployed: add it to ${deployment.file}, or take it out`),
      );
      continue;
    }
    for (const [method, operation] of methods) {
      if (entries.every((each) => each.method !== method)) {
        found.push(
          warning(
            file,
            operation.line,
            `${method.toUpperCase()} ${path} is described here but not deployed: add it to ${deployment.file}, or take it out`,
          ),
        );
      }
      for (const type of operation.requestMediaTypes ?? []) {
        if (!/^[^/\s]+\/[^/\s]+$/.test(type.split(';')[0]?.trim() ?? ''))
          found.push(
            warning(
              file,
              operation.line,
              `"${type}" is no media type, so that no call can have it: write it like application/json`,
            ),
          );
      }
    }
  }
  return found;
}

function exampleWarnings(
  { services, library }: LoadedKo,
  { files }: KoSource,
  examples: readonly WorkedExample[],
): Finding[] {
  if (services.length === 0)
    return [warning(METADATA_FILE, undefined, 'it deploys no endpoint: an activator keeps it and runs nothing of it')];
  if (!files.has(EXAMPLES_FILE)) {
    return [
      warning(EXAMPLES_FILE, undefined, 'there are no worked examples: add calls and the answers they must give'),
    ];
  }
  if (library !== undefined) return [];
  const tried = new Set(examples.map(({ endpoint }) => endpoint));
  return services.flatMap(({ deployment: { file, endpoints } }) =>
    [...endpoints].flatMap(([path, [entry]]) =>
      tried.has(path) ? [] : [warning(file, entry?.line, `${path} has no worked example: add one to ${EXAMPLES_FILE}`)],
    ),
  );
}

// Files that must be text in UTF-8, and are not: what is read of them all the same is not what their author wrote.

const CODE = /\.([cm]?[jt]s|json|py)$/;

async function textProblems(
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

// Files that nobody means to publish, though all files of a package can be read over HTTP.

/** A path up to its first part that is hidden or holds packages. */
const PRIVATE = /^(?:.*?\/)?(?:\.[^/]+|node_modules)(?:\/|$)/;
/** What a shelf leaves out of a folder, as `pack` does. */
const OFF_THE_SHELF = /(^|\/)(\.git\/|\.DS_Store$)/;
const MOST_NAMED = 3;

function publicFileWarnings({ isArchive, files, leftOut }: KoSource): Finding[] {
  const paths = isArchive ? [...files.keys()] : leftOut.map(({ path }) => path);
  const found = new Set(paths.map((path) => PRIVATE.exec(path)?.[0]).filter((each) => each !== undefined));
  const named = [...found].filter((path) => isArchive || !OFF_THE_SHELF.test(path));
  if (named.length === 0) return [];
  const some = [...named.slice(0, MOST_NAMED), ...(named.length > MOST_NAMED ? ['…'] : [])].join(', ');
  return [
    warning(
      '',
      undefined,
      isArchive
        ? `${some} can be read by anybody, like all files of a package: leave them out, as kgrid pack does`
        : `${some} can be read by anybody where this folder lies on a shelf: take them out; kgrid pack leaves them out`,
    ),
  ];
}

// What `create` leaves to the author to say.

/** A line of a template, with the field where it stands in one. */
const TEMPLATE_TEXT = /^\s*(?:"?(?<field>[\w:]+)"?\s*:\s*)?"?Say here what /;

async function templateTexts(source: KoSource, { services }: Inspection['descriptors']): Promise<Finding[]> {
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
