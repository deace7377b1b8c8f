/** `kgrid run`, from its options to its exit code. */
import { Unavailable } from '../../src/check/findings.ts';
import type { ActivatorClient } from '../lib/client.ts';
import type { Context } from '../lib/context.ts';
import { CommandFailure, EXIT, type ExitCode } from '../lib/exit.ts';
import type { RemoteOptions } from '../lib/remote.ts';
import type { Terminal } from '../lib/terminal.ts';
import { BatchClient } from './batch-client.ts';
import { openEndpoint, type RunEndpoint } from './endpoint.ts';
import { LINE_COLUMN, type Mapping, mappingOf } from './mapping.ts';
import { openFailures, openOutput } from './open-output.ts';
import { RunStopped } from './output.ts';
import { RunReport } from './report.ts';
import {
  beginAt,
  checkFiles,
  exists,
  forget,
  Journal,
  ownFiles,
  publish,
  type RunPlan,
  type RunState,
  START,
  tidy,
} from './run-files.ts';
import { Run } from './run-records.ts';
import { ResultColumns } from './schema-fields.ts';
import { PIPE, type RunOptions, type RunSettings, settingsOf } from './settings.ts';
import { factsOf, fileSize, openInput, type Source } from './source.ts';
import { openTarget } from './target.ts';

interface Task {
  readonly context: Context;
  readonly terminal: Terminal;
  readonly named: string;
  readonly input: string;
  readonly options: RunOptions & RemoteOptions;
  readonly settings: RunSettings;
}

/** 0: all records have a result; 1: some failed, or it stopped; 2: nothing was done. */
export async function runAll(
  context: Context,
  named: string,
  input: string,
  options: RunOptions & RemoteOptions,
): Promise<ExitCode> {
  const terminal = context.terminal(options);
  try {
    const settings = await settingsOf(input, options);
    return await runTask({ context, terminal, named, input, options, settings });
  } catch (thrown) {
    const isExpected =
      thrown instanceof CommandFailure ||
      thrown instanceof Unavailable ||
      thrown instanceof RunStopped ||
      isOfSystem(thrown);
    if (!isExpected) throw thrown;
    // "2 nothing done", whatever the reason.
    throw new CommandFailure(EXIT.usage, thrown.message, { cause: thrown });
  }
}

const isOfSystem = (thrown: unknown): thrown is Error => thrown instanceof Error && 'syscall' in thrown;

async function runTask(task: Task): Promise<ExitCode> {
  const { context, terminal, named, input, options, settings } = task;
  const { files, from } = settings;
  const size = input === PIPE ? undefined : await fileSize(input);
  const begin = { resume: options.resume === true, force: options.force === true };
  if (files !== undefined && (await checkFiles(files, begin)) === 'done') {
    // Nothing else is left of the run that made it.
    const hasFailures = await exists(files.failures);
    terminal.print(`${files.output} is whole already: nothing is left to do`);
    if (hasFailures) terminal.print(`  failures: ${files.failures}`);
    terminal.json({ ok: !hasFailures, output: files.output, ...(hasFailures ? { failures: files.failures } : {}) });
    return hasFailures ? EXIT.problems : EXIT.ok;
  }
  await using owned = new AsyncDisposableStack();
  if (files !== undefined) owned.use(await ownFiles(files));
  const { client, path } = owned.use(await openTarget(context, terminal, named, options));
  const endpoint = await openEndpoint(client, path);
  const source = await openInput(input, size, from, context.stdin);
  const mapping = mappingOf(
    source,
    endpoint.schemas.request,
    {
      map: options.map,
      join: options.join === true,
      idColumn: options.idColumn,
    },
    input,
  );
  for (const note of [...endpoint.notes, ...source.notes, ...mapping.notes]) terminal.note(note);
  const plan = files === undefined ? undefined : await planOf(task, endpoint, mapping, size);
  const journal = files === undefined || plan === undefined ? undefined : new Journal(files.journal, plan);
  const state = files === undefined || journal === undefined ? START : await beginAt(journal, files, begin);
  if (files !== undefined && journal !== undefined && state.isWhole) {
    await tidy(files, state);
    return new RunReport(task, source, state).whole(state);
  }
  // Awaited here: the target must outlive the run.
  return await runFrom(task, { client, path, endpoint, source, mapping, journal, state });
}

interface Begun {
  readonly client: ActivatorClient;
  readonly path: string;
  readonly endpoint: RunEndpoint;
  readonly source: Source;
  readonly mapping: Mapping;
  readonly journal: Journal | undefined;
  readonly state: RunState;
}

async function runFrom(
  task: Task,
  { client, path, endpoint, source, mapping, journal, state }: Begun,
): Promise<ExitCode> {
  const { context, terminal, options, settings } = task;
  const { files, concurrency, retries, maxFailures } = settings;
  const stop = new AbortController();
  // A pipe has nobody who could go on later, but what it was given stays whole lines.
  context.interrupted().then(
    () => stop.abort(),
    () => undefined,
  );
  await using owned = new AsyncDisposableStack();
  const report = new RunReport(task, source, state);
  const batches = owned.use(
    new BatchClient({
      url: client.url + path,
      authorization: client.authorization,
      digest: endpoint.digest,
      retries,
      connections: concurrency,
      onWait: (why) => report.wait(why),
      signal: stop.signal,
    }),
  );
  const columns = new ResultColumns(endpoint.schemas.result, mapping.beside, state.lost);
  const failuresPath = files?.failures ?? options.failures;
  const failures = await openFailures(failuresPath, state, options.idColumn, terminal);
  owned.defer(() => failures.close());
  const output = await openOutput({ settings, mapping, columns, from: state, stdout: context.stdout });
  owned.defer(() => output.close());
  const run = new Run({
    source,
    mapping,
    answers: (inputs) => batches.answers(inputs),
    output,
    failures,
    journal,
    from: state,
    concurrency,
    maxFailures,
    onProgress: (now) => report.progress(now),
    signal: stop.signal,
  });
  try {
    await run.process();
    const whole = await run.finish();
    if (files !== undefined && journal !== undefined) await publish(files, journal, whole);
    return report.whole(whole);
  } catch (thrown) {
    if (files !== undefined && run.kept.records === 0) await forget(files);
    if (thrown instanceof CommandFailure || thrown instanceof RunStopped || stop.signal.aborted || isOfSystem(thrown))
      return report.stopped(stop.signal.aborted ? 'Interrupted' : (thrown as Error).message, run);
    throw thrown;
  } finally {
    stop.abort();
  }
}

/** What decides on each byte of the output. */
async function planOf(
  { input, options, settings }: Task,
  { id, digest, schemas }: RunEndpoint,
  { beside }: Mapping,
  size: number | undefined,
): Promise<RunPlan> {
  const { from, to } = settings;
  const facts = size === undefined ? undefined : await factsOf(input, size);
  return {
    input: facts === undefined ? null : `${facts.size} bytes, sha256:${facts.sha256}`,
    'package of the knowledge object': digest ?? null,
    endpoint: id,
    '--from': from.format,
    '--to': to.format,
    '--delimiter': `${from.delimiter}${to.delimiter}`,
    '--map': [...options.map].sort().join(' '),
    '--join': options.join === true,
    '--id-column': options.idColumn ?? null,
    columns: [
      ...(beside.length === 1 && beside[0] === LINE_COLUMN ? [] : beside),
      ...new ResultColumns(schemas.result, beside).names,
    ].join(),
  };
}
