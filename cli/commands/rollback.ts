import { Command } from 'commander';
import { wordsOf } from '../../src/check/answers.ts';
import { koKey, parseKoId } from '../../src/knowledge-object/id.ts';
import { fieldsOf } from '../../src/lib/json.ts';
import { type ActivatorClient, refusal } from '../lib/client.ts';
import type { Context } from '../lib/context.ts';
import { CommandFailure, EXIT, type ExitCode, usageFailure } from '../lib/exit.ts';
import { activate } from '../lib/publish.ts';
import { remoteActivator, type RemoteOptions, toKey, withRemoteOptions } from '../lib/remote.ts';
import { isActive } from '../lib/report-endpoints.ts';
import { count, type Terminal } from '../lib/terminal.ts';

interface RollbackOptions extends RemoteOptions {
  readonly to?: string;
  readonly list?: boolean;
  readonly reload: boolean;
}

/** One package that is kept, as `GET /actuator/removed` shows it. */
interface Kept {
  readonly ko: string;
  readonly digest: string;
  readonly removed: string;
  readonly why: string;
  readonly by: string | undefined;
}

export function rollbackCommand(context: Context): Command {
  const command = new Command('rollback')
    .description('Bring back what a delete or a replacement took off the shelf of an activator, and activate it')
    .argument('<id>', 'with its version, such as hello/welcome/v1.0')
    .option('--to <digest>', 'the package of this digest, or of one that begins so (default: the last one)')
    .option('--list', 'only say what is kept')
    .option('--no-reload', 'leave active what is active, until a reload');
  return withRemoteOptions(command, 'address of the activator')
    .addHelpText(
      'after',
      `
Examples:
  kgrid rollback hello/welcome/v1.0 --list --url http://127.0.0.1:8080
  kgrid rollback hello/welcome/v1.0                    what was there before the last change
  kgrid rollback hello/welcome/v1.0 --to sha256:3f2a

What is there now is kept in turn: a second rollback undoes the first. Exit code: 0 it is back and its endpoints are
active, 1 nothing such is kept or an endpoint does not run, 2 a digest that several have, 3 the activator is out of
reach or refuses the login.`,
    )
    .action(async (named: string, options: RollbackOptions) => {
      process.exitCode = await rollback(context, named, options);
    });
}

async function rollback(context: Context, named: string, options: RollbackOptions): Promise<ExitCode> {
  const terminal = context.terminal(options);
  const client = remoteActivator(options, context.env, terminal);
  const key = toKey(named);
  if (options.list === true) return list(key, await keptAt(client, key), terminal);
  const digest = options.to === undefined ? undefined : chosen(options.to, key, await keptAt(client, key));
  // What is seen now is what is replaced, not what another puts there meanwhile.
  const etag = (await client.send(`/kos/${key}`)).headers.get('etag');
  const answer = await client.send(`/kos/${key}/restore${digest === undefined ? '' : `?digest=${digest}`}`, {
    method: 'POST',
    ...(etag === null ? {} : { headers: { 'if-match': etag } }),
  });
  if (answer.status === 404) throw new CommandFailure(EXIT.problems, `${client.url}: ${wordsOf(answer)}`);
  if (answer.status === 412) throw refusal(answer, client, `has another ${key} by now, which was left alone`);
  if (answer.status !== 200 && answer.status !== 201) throw refusal(answer, client, `does not bring ${key} back`);
  const restored = answer.headers.get('kgrid-package-digest') ?? '';
  const replaced = answer.headers.get('kgrid-replaced')?.split(', ')[0];
  terminal.print(`${terminal.good('Restored')} ${key} at ${client.url}: ${restored}`);
  if (replaced !== undefined) terminal.print(terminal.dim(`  in place of ${replaced}, which is kept`));
  const endpoints = options.reload ? await activate({ key }, client, terminal) : [];
  for (const each of endpoints) {
    const word = isActive(each) ? terminal.good(each.status) : terminal.bad(each.status);
    terminal.print(`  ${word}  ${client.url}/${each.id}${each.detail === undefined ? '' : `  ${each.detail}`}`);
  }
  if (!options.reload) terminal.print(terminal.warning('  Nothing was activated: its endpoints follow with a reload'));
  const ok = endpoints.every(isActive);
  terminal.json({ ok, url: client.url, ko: key, digest: restored, replaced, endpoints });
  return ok ? EXIT.ok : EXIT.problems;
}

function list(key: string, kept: readonly Kept[], terminal: Terminal): ExitCode {
  for (const { digest, removed, why, by } of kept)
    terminal.print(`${digest}  ${why} ${removed}${by === undefined ? '' : ` by ${by}`}`);
  terminal.print(kept.length === 0 ? `Nothing is kept of ${key}` : `${count(kept.length, 'package')} of ${key} kept`);
  terminal.json({ ko: key, kept });
  return EXIT.ok;
}

async function keptAt(client: ActivatorClient, key: string): Promise<Kept[]> {
  const path = `/actuator/removed?limit=1000&ko=${key}`;
  const answer = await client.send(path);
  if (answer.status !== 200) throw refusal(answer, client, `does not say what is kept of ${key}`);
  if (!Array.isArray(answer.body)) throw client.strange(`GET ${path}`, answer);
  return answer.body.map(fieldsOf).flatMap(({ ko, digest, removed, why, by }) => {
    const id = parseKoId(String(ko));
    if (id === undefined || koKey(id) !== key) return [];
    const words = { ko: key, digest: String(digest), removed: String(removed), why: String(why) };
    return [{ ...words, by: typeof by === 'string' ? by : undefined }];
  });
}

/** @throws CommandFailure unless it is exactly one. */
function chosen(begin: string, key: string, kept: readonly Kept[]): string {
  const hex = begin.toLowerCase().replace(/^sha256:/, '');
  if (!/^[0-9a-f]{4,64}$/.test(hex))
    throw usageFailure(`--to is '${begin}', but must be a digest such as sha256:3f2a…, or its first digits`);
  // The activator says what is kept instead.
  if (hex.length === 64) return `sha256:${hex}`;
  const found = kept.filter(({ digest }) => digest.startsWith(`sha256:${hex}`));
  if (found.length > 1)
    throw usageFailure(`${found.length} packages of ${key} have a digest that begins with ${hex}: give more of it`);
  const [one] = found;
  if (one === undefined)
    throw new CommandFailure(
      EXIT.problems,
      `No package of ${key} is kept with a digest that begins with ${hex}: see --list`,
    );
  return one.digest;
}
