/** `kgrid verify-answer`: runs again what gave an answer, and compares. */
import { activateSources, runtimesFor } from '../../src/check/activate-sources.ts';
import { ActivatorClient } from '../lib/client.ts';
import { wordsOf } from '../../src/check/answers.ts';
import type { Answer } from '../../src/check/answers.ts';
import { differences } from '../../src/knowledge-object/compare-results.js';
import type { Difference } from '../../src/knowledge-object/compare-results.js';
import type { Context } from '../lib/context.ts';
import { EXIT, ioFailure, usageFailure } from '../lib/exit.ts';
import type { ExitCode } from '../lib/exit.ts';
import { fieldsOf } from '../lib/fields.ts';
import { inspectAll } from '../../src/check/inspect.ts';
import { openSources } from '../lib/open-sources.ts';
import { remoteActivator } from '../lib/remote.ts';
import type { RemoteOptions } from '../lib/remote.ts';
import { temporaryFolder } from '../../src/check/temporary-folder.ts';
import { count } from '../lib/terminal.ts';
import type { Terminal } from '../lib/terminal.ts';
import { DIGEST_HEADER } from '../run/endpoint.ts';
import { answerOf, readAnswerFile } from './answer-file.ts';
import type { KeptAnswer, Place } from './answer-file.ts';
import { packagesOfShelf } from './packages-of-shelf.ts';

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
      ...{ env: context.env, terminal, runtimes: runtimesFor(all), showConsole: false },
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
