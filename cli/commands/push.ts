import { readFile } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { Command } from 'commander';
import type { LoadedKo } from '../../src/activation/loaded-ko.ts';
import { wordsOf } from '../lib/client.ts';
import type { ActivatorClient, Answer, ListedEndpoint } from '../lib/client.ts';
import type { Context } from '../lib/context.ts';
import { EXIT, CommandFailure, ioFailure } from '../lib/exit.ts';
import type { ExitCode } from '../lib/exit.ts';
import { placeOf, printFindings } from '../lib/findings.ts';
import { entriesOf, inspect } from '../lib/inspect.ts';
import type { Inspection } from '../lib/inspect.ts';
import { openSources, placeIn } from '../lib/ko-source.ts';
import type { KoSource } from '../lib/ko-source.ts';
import { pack } from '../lib/pack.ts';
import { remoteActivator, withRemoteOptions } from '../lib/remote.ts';
import type { RemoteOptions } from '../lib/remote.ts';
import { count } from '../lib/terminal.ts';
import type { Terminal } from '../lib/terminal.ts';

interface PushOptions extends RemoteOptions {
  readonly json?: boolean;
}

/** A knowledge object that is fit to be pushed. */
interface Ready {
  readonly source: KoSource;
  readonly ko: LoadedKo;
  readonly zip: Buffer<ArrayBuffer>;
}

export function pushCommand(context: Context): Command {
  const command = new Command('push')
    .description('Upload knowledge objects to an activator and activate them there')
    .argument('<dir|zip...>', 'knowledge objects, or folders of them')
    .option('--json', 'print the result as JSON');
  return withRemoteOptions(command, 'address of the activator')
    .addHelpText(
      'after',
      `
Examples:
  kgrid push my-score --url http://127.0.0.1:8080
  KGRID_URL=https://kgrid.example.org KGRID_USER=ann KGRID_PASSWORD=… kgrid push my-score other-score.zip
  kgrid push my-score --url https://kgrid.example.org --token-env MY_TOKEN

Nothing is uploaded when one of them has problems. Exit code: 0 all endpoints are active, 1 problems or an endpoint
that does not run, 3 the activator is out of reach or refuses the login.`,
    )
    .action(async (paths: string[], options: PushOptions) => {
      process.exitCode = await push(context, paths, options);
    });
}

async function push(
  { env, terminal: open }: Context,
  paths: readonly string[],
  options: PushOptions,
): Promise<ExitCode> {
  const terminal = open(options);
  const client = remoteActivator(options, env, terminal);
  await using sources = await openSources(paths);
  const inspections = await Promise.all(sources.map(inspect));
  const problems = reportProblems(inspections, terminal);
  if (problems > 0) {
    terminal.print(terminal.bad(`${count(problems, 'problem')}: nothing was uploaded`));
    terminal.json({
      ok: false,
      problems: inspections.flatMap(({ source, findings }) =>
        findings.map((each) => ({ source: source.label, ...each })),
      ),
    });
    return EXIT.problems;
  }
  const ready = await Promise.all(inspections.map(makeReady));
  // All are there before the first is activated, since they may call each other.
  for (const each of ready) await upload(each, client, terminal);
  const endpoints: ListedEndpoint[] = [];
  for (const { source, ko } of ready) {
    const found = await activate(ko, client, terminal);
    for (const each of found) printEndpoint(each, source, ko, client, terminal);
    endpoints.push(...found);
  }
  const running = endpoints.filter(({ status }) => status === ACTIVE).length;
  const ok = running === endpoints.length;
  const summary = `${running} of ${count(endpoints.length, 'endpoint')} active`;
  terminal.print(ok ? terminal.good(summary) : terminal.bad(summary));
  terminal.json({ ok, url: client.url, kos: ready.map(({ ko }) => ko.key), endpoints });
  return ok ? EXIT.ok : EXIT.problems;
}

const ACTIVE = 'ACTIVATED';

function reportProblems(inspections: readonly Inspection[], terminal: Terminal): number {
  let problems = 0;
  for (const { source, findings } of inspections) {
    printFindings(source, findings, terminal);
    problems += findings.filter(({ severity }) => severity === 'problem').length;
  }
  return problems;
}

async function makeReady(inspection: Inspection): Promise<Ready> {
  const { source, ko } = inspection;
  if (ko === undefined) throw new CommandFailure(EXIT.problems, `${source.label} cannot be pushed`);
  const zip = source.isZip ? await readFile(source.path) : (await pack(inspection)).zip;
  return { source, ko, zip };
}

async function upload({ ko, zip }: Ready, client: ActivatorClient, terminal: Terminal): Promise<void> {
  terminal.progress(`uploading ${ko.key} …`);
  const body = new FormData();
  body.append('ko', new Blob([zip], { type: 'application/zip' }), `${ko.key.replaceAll('/', '-')}.zip`);
  const answer = await client.send('/kos', { method: 'POST', body });
  if (answer.status !== 200) throw refusal(answer, client, `does not take ${ko.key}`);
  terminal.print(`${ko.key} is on the shelf of ${client.url}`);
}

async function activate(ko: LoadedKo, client: ActivatorClient, terminal: Terminal): Promise<ListedEndpoint[]> {
  terminal.progress(`activating ${ko.key} …`);
  const answer = await client.send(`/actuator/activation/reload/${ko.key}`);
  if (answer.status !== 303) throw refusal(answer, client, `does not activate ${ko.key}`);
  for (;;) {
    const endpoints = (await client.endpoints()).filter((each) => each.ko === ko.key);
    const slow = endpoints.find(({ status }) => status === 'LOADED');
    if (slow === undefined) return endpoints;
    terminal.progress(`${slow.id}: ${slow.detail ?? 'is being activated'} …`);
    await wait(LOOK_AGAIN);
  }
}

const LOOK_AGAIN = 500;

function refusal(answer: Answer, { url }: ActivatorClient, what: string): CommandFailure {
  const words = wordsOf(answer);
  if (answer.status === 401)
    return ioFailure(`${url} asks for a login: set KGRID_USER and KGRID_PASSWORD, or KGRID_TOKEN (${words})`);
  if (answer.status === 403) return ioFailure(`${url} does not let this login write (${words})`);
  const isOurs = answer.status === 400 || answer.status === 413;
  return new CommandFailure(isOurs ? EXIT.problems : EXIT.unreachable, `${url} ${what}: ${words}`);
}

function printEndpoint(
  endpoint: ListedEndpoint,
  source: KoSource,
  ko: LoadedKo,
  { url }: ActivatorClient,
  terminal: Terminal,
): void {
  const { id, status, detail = '' } = endpoint;
  const entry = entriesOf(ko.deployment).find(({ path }) => id.endsWith(path));
  const address = `${entry?.method.toUpperCase() ?? ''} ${url}/${id}`;
  if (status === ACTIVE) {
    terminal.print(`  ${terminal.good(status)}  ${address}`);
    return;
  }
  terminal.print(`  ${terminal.bad(status)}  ${address}`);
  const place = placeOf(detail, source.files) ?? { file: ko.deployment.file, line: entry?.line };
  terminal.print(`    ${placeIn(source, place.file, place.line)}: ${detail}`);
}
