/** `kgrid verify-answer`: runs again what gave an answer, and compares. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { isDeepStrictEqual } from 'node:util';
import { activateSources, runtimesFor } from '../../src/check/activate-sources.ts';
import { type Answer, wordsOf } from '../../src/check/answers.ts';
import { inspectAll } from '../../src/check/inspect.ts';
import { temporaryFolder } from '../../src/check/temporary-folder.ts';
import { type Difference, differences } from '../../src/knowledge-object/compare-results.js';
import { koKey, parseKoId } from '../../src/knowledge-object/id.ts';
import { messageOf } from '../../src/lib/errors.ts';
import { fieldsOf, isObject } from '../../src/lib/json.ts';
import { openShelf } from '../../src/shelf/stores.ts';
import type { KoPackage, Shelf } from '../../src/shelf/shelf.ts';
import { ActivatorClient } from '../lib/client.ts';
import type { Context, Environment } from '../lib/context.ts';
import { EXIT, type ExitCode, ioFailure, orShelfFailure, usageFailure } from '../lib/exit.ts';
import { openSources } from '../lib/open-sources.ts';
import { remoteActivator, type RemoteOptions } from '../lib/remote.ts';
import { requireFolder } from '../lib/require-folder.ts';
import { count, type Terminal } from '../lib/terminal.ts';
import { DIGEST_HEADER } from '../run/endpoint.ts';
import { PIPE } from '../run/settings.ts';

export interface VerifyOptions extends RemoteOptions {
  readonly ko?: string;
  readonly with: readonly string[];
  readonly shelf?: string;
  readonly fleet?: string;
  readonly endpoint?: string;
}

/** Lines of differences that are printed. */
const MOST_LINES = 20;

export async function verifyAnswer(context: Context, path: string, options: VerifyOptions): Promise<ExitCode> {
  const terminal = context.terminal(options);
  const kept = await readAnswerFile(path, context.stdin);
  if (options.ko !== undefined && options.shelf !== undefined)
    throw usageFailure('--ko and --shelf both say where the package is: leave one out');
  if (options.with.length > 0 && options.ko === undefined) throw usageFailure('--with goes with --ko');
  const isHere = options.ko !== undefined || options.shelf !== undefined;
  if (isHere && options.url !== undefined)
    throw usageFailure('--url runs it at an activator, --ko and --shelf here: leave one out');
  const again = isHere
    ? await runHere(context, kept, options, terminal)
    : await runThere(remoteActivator(options, context.env, terminal), kept, options);
  return report(kept, again, terminal);
}

async function runThere(client: ActivatorClient, kept: KeptAnswer, options: VerifyOptions): Promise<Answer> {
  const endpoint = options.endpoint ?? kept.provenance?.endpoint;
  if (endpoint === undefined) throw usageFailure('The answer has no provenance: name its endpoint with --endpoint');
  return run(client, endpoint, kept);
}

async function runHere(
  context: Context,
  kept: KeptAnswer,
  options: VerifyOptions,
  terminal: Terminal,
): Promise<Answer> {
  await using owned = new AsyncDisposableStack();
  let paths: readonly string[];
  if (options.shelf === undefined) paths = [options.ko ?? '', ...options.with];
  else {
    const folder = owned.use(await temporaryFolder());
    const shelf = { location: options.shelf, fleet: options.fleet, env: context.env };
    paths = await packagesOfShelf(shelf, kept, folder.path, terminal);
  }
  const all = await inspectAll(owned.use(await openSources(paths, terminal)));
  const [first] = all;
  if (first?.ko === undefined)
    throw ioFailure(`${paths[0] ?? ''} holds no knowledge object that can be run ("kgrid check" says more)`);
  const activator = owned.use(
    await activateSources(all, {
      env: context.env,
      terminal,
      runtimes: runtimesFor(all),
      showConsole: false,
      settings: ['--provenance'],
    }),
  );
  const endpoints = activator.endpointsOf(first.ko.key);
  const wanted = (options.endpoint ?? kept.provenance?.endpoint)?.replace(/^\//, '');
  const found = endpoints.find(({ id, name }) => id === wanted || name === wanted);
  const [only] = endpoints.length === 1 && wanted === undefined ? endpoints : [found];
  const ids = endpoints.map(({ id }) => id).join(', ');
  if (only === undefined)
    throw usageFailure(
      wanted === undefined
        ? `The answer has no provenance: name its endpoint with --endpoint, one of ${ids || 'none'}`
        : `${first.ko.key} has no endpoint ${wanted}: it has ${ids || 'none'}`,
    );
  // Awaited here: the activator must outlive the call.
  return await run(new ActivatorClient(activator.url), only.id, kept);
}

const run = (client: ActivatorClient, endpoint: string, { inputs, provenance }: KeptAnswer): Promise<Answer> =>
  client.send(`/${endpoint.replace(/^\//, '')}`, {
    method: 'POST',
    headers: { 'content-type': provenance?.contentType ?? 'application/json' },
    body: inputs,
  });

function report(kept: KeptAnswer, answer: Answer, terminal: Terminal): ExitCode {
  if (answer.status === 401 || answer.status === 403)
    throw ioFailure(`The activator does not run it for this login: ${wordsOf(answer)}`);
  const { provenance } = kept;
  const failure = answer.status === 200 ? undefined : wordsOf(answer);
  const again = failure === undefined ? answerOf(answer.body, 'The new answer') : undefined;
  const all = again === undefined ? [] : differing(kept.result, again.result);
  const packages = packagesThatDiffer(kept, answer);
  const isSame = failure === undefined && all.length === 0;
  for (const { path, expected, got } of all.slice(0, MOST_LINES))
    terminal.print(`${terminal.bad('differs')}  result${path === '' ? '' : `.${path}`}: was ${expected}, is ${got}`);
  if (all.length > MOST_LINES) terminal.print(`… and ${count(all.length - MOST_LINES, 'place')} more`);
  if (failure !== undefined) terminal.print(`${terminal.bad('failed')}  ${failure}`);
  for (const { knowledgeObject, was, is } of packages)
    terminal.print(`${terminal.bad('another package')}  ${knowledgeObject}: was ${was}, is ${is}`);
  const engine = again?.provenance?.engine;
  if (provenance !== undefined && engine !== undefined && engine !== provenance.engine)
    terminal.print(terminal.dim(`engine: was ${provenance.engine}, is ${engine}`));
  if (provenance === undefined)
    terminal.note(
      'The answer has no provenance: that it came from this package is not shown, only results are compared',
    );
  const ok = isSame && packages.length === 0;
  const words = isSame
    ? `The result is the same${packages.length === 0 ? '' : ', but not the packages'}`
    : failure === undefined
      ? 'The result is not the same'
      : 'There is no result any more';
  terminal.print(ok ? terminal.good(words) : terminal.bad(words));
  terminal.json({
    ok,
    sameResult: isSame,
    samePackages: provenance === undefined ? null : packages.length === 0,
    differences: all,
    packages,
    ...(failure === undefined ? {} : { failure }),
  });
  return ok ? EXIT.ok : EXIT.problems;
}

/** In either direction: what one has and the other has not differs too. */
function differing(was: unknown, is: unknown): Difference[] {
  const found = differences(was, is, 0);
  const known = new Set(found.map(({ path }) => path));
  const added = differences(is, was, 0).filter(({ path }) => !known.has(path));
  return [...found, ...added.map(({ path, expected, got }) => ({ path, expected: got, got: expected }))];
}

interface OtherPackage {
  readonly knowledgeObject: string;
  readonly was: string;
  readonly is: string;
}

function packagesThatDiffer({ provenance }: KeptAnswer, { headers, body }: Answer): OtherPackage[] {
  if (provenance === undefined) return [];
  const now = new Map<string, string>();
  const told = fieldsOf(fieldsOf(fieldsOf(body)['info'])['provenance']);
  const calls: unknown = told['calls'];
  for (const each of Array.isArray(calls) ? calls : []) {
    const { knowledgeObject, digest } = fieldsOf(each);
    now.set(String(knowledgeObject), String(digest));
  }
  const knowsCalls = Array.isArray(calls);
  const own = headers.get(DIGEST_HEADER);
  if (own !== null) now.set(provenance.knowledgeObject, own);
  const places: Place[] = [provenance, ...(knowsCalls ? provenance.calls : [])];
  const before = new Map(places.map((each) => [each.knowledgeObject, each.digest]));
  const differs = [...before].flatMap(([knowledgeObject, was]) => {
    const is = now.get(knowledgeObject) ?? 'none';
    return is === was ? [] : [{ knowledgeObject, was, is }];
  });
  const more = [...now].filter(([key]) => knowsCalls && !before.has(key));
  return [...differs, ...more.map(([knowledgeObject, is]) => ({ knowledgeObject, was: 'none', is }))];
}

// An answer of an activator as a person kept it.

/** An endpoint and what it was. */
interface Place {
  readonly endpoint: string;
  /** `<naan>/<name>/<version>`. */
  readonly knowledgeObject: string;
  /** The value of `KGrid-Package-Digest`. */
  readonly digest: string;
}

interface KeptAnswer {
  readonly result: unknown;
  /** The body as it was sent. */
  readonly inputs: string;
  /** The metadata of the knowledge object. */
  readonly metadata: unknown;
  /** Undefined where the activator did not tell. */
  readonly provenance: KeptProvenance | undefined;
}

interface KeptProvenance extends Place {
  readonly contentType: string | undefined;
  readonly engine: string;
  readonly time: string;
  readonly calls: readonly Place[];
}

/** @throws CommandFailure where the file cannot be read, or holds no answer that can be had again. */
async function readAnswerFile(path: string, stdin: NodeJS.ReadableStream): Promise<KeptAnswer> {
  let value: unknown;
  const content = await readText(path, stdin);
  try {
    value = JSON.parse(content);
  } catch (thrown) {
    throw usageFailure(`${path} is not JSON, so it is no answer of an activator: ${messageOf(thrown)}`);
  }
  return answerOf(value, path);
}

async function readText(path: string, stdin: NodeJS.ReadableStream): Promise<string> {
  try {
    return path === PIPE ? await text(stdin) : await readFile(path, 'utf8');
  } catch (thrown) {
    throw ioFailure(`${path} cannot be read: ${messageOf(thrown)}`, thrown);
  }
}

function answerOf(value: unknown, path: string): KeptAnswer {
  const info = fieldsOf(fieldsOf(value)['info']);
  const { inputs, ko: metadata, provenance } = info;
  if (!isObject(value) || !('result' in value))
    throw usageFailure(`${path} holds no result: keep the whole answer of a call, {"result": …, "info": …}`);
  if (typeof inputs !== 'string')
    throw usageFailure(`${path} does not tell its inputs: keep the whole answer, without Accept …;profile="minimal"`);
  return { result: value['result'], inputs, metadata, provenance: provenanceOf(provenance, path) };
}

function provenanceOf(value: unknown, path: string): KeptProvenance | undefined {
  if (value === undefined) return undefined;
  const said = fieldsOf(value);
  const { contentType, time, calls } = said;
  const { name, version } = fieldsOf(said['engine']);
  const place = placeOf(value);
  const called = Array.isArray(calls) ? calls.map(placeOf) : undefined;
  if (place === undefined || called === undefined || called.includes(undefined))
    throw usageFailure(`info.provenance of ${path} is not that of an activator`);
  return {
    ...place,
    contentType: typeof contentType === 'string' ? contentType : undefined,
    engine: `${String(name)} ${String(version)}`,
    time: String(time),
    calls: called.filter((each) => each !== undefined),
  };
}

function placeOf(value: unknown): Place | undefined {
  const { endpoint, knowledgeObject, digest } = fieldsOf(value);
  return typeof endpoint === 'string' && typeof knowledgeObject === 'string' && typeof digest === 'string'
    ? { endpoint, knowledgeObject, digest }
    : undefined;
}

/** Takes from a shelf the packages by which an answer was given, those too that were deleted or replaced since. */
interface ShelfToRead {
  readonly location: string;
  readonly fleet: string | undefined;
  readonly env: Environment;
}

/** Writes them below a folder, and gives their folders: that of the answer first. @throws CommandFailure. */
async function packagesOfShelf(
  { location, fleet = 'kgrid', env }: ShelfToRead,
  answer: KeptAnswer,
  folder: string,
  terminal: Terminal,
): Promise<readonly string[]> {
  await requireFolder(location);
  await using shelf = await orShelfFailure(() =>
    openShelf(location, {
      fleet,
      isNode: false,
      passwords: { environment: env },
      onWarning: (message) => terminal.note(message),
    }),
  );
  await orShelfFailure(() => shelf.ready());
  const wanted = await placesIn(shelf, answer, location);
  const folders: string[] = [];
  for (const [key, digest] of wanted) {
    const pkg = await openAs(shelf, key, digest);
    if (pkg === undefined) throw ioFailure(`${key} is not on the shelf ${location}, nor kept there with its digest`);
    const to = join(folder, String(folders.length));
    await write(pkg, to).finally(() => pkg.release());
    folders.push(to);
  }
  return folders;
}

/** Keys with digests. */
async function placesIn(
  shelf: Shelf,
  { provenance, metadata }: KeptAnswer,
  location: string,
): Promise<ReadonlyMap<string, string>> {
  if (provenance !== undefined) {
    const places = new Map([[provenance.knowledgeObject, provenance.digest]]);
    for (const { knowledgeObject, digest } of provenance.calls)
      if (!places.has(knowledgeObject)) places.set(knowledgeObject, digest);
    return places;
  }
  const entries = await shelf.list();
  const found = entries.find((entry) => isDeepStrictEqual(JSON.parse(entry.metadata), metadata));
  if (found === undefined)
    throw usageFailure(`No knowledge object on the shelf ${location} has the metadata that the answer tells`);
  return new Map([[koKey(found.id), `sha256:${found.digest}`]]);
}

async function openAs(shelf: Shelf, key: string, named: string): Promise<KoPackage | undefined> {
  const id = parseKoId(key);
  if (id === undefined) return undefined;
  const digest = named.replace(/^sha256:/, '');
  const present = await shelf.find(id);
  if (present?.digest === digest) return shelf.open(id);
  const kept = (await shelf.removed(id)).find((each) => each.digest === digest);
  return kept === undefined ? shelf.open(id) : shelf.openRemoved(id, digest);
}

async function write(pkg: KoPackage, to: string): Promise<void> {
  for (const path of pkg.files.keys()) {
    const file = join(to, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, await pkg.read(path));
  }
}
