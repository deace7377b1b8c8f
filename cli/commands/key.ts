import { Command } from 'commander';
import type { Context } from '../lib/context.ts';
import { CommandFailure, EXIT, usageFailure } from '../lib/exit.ts';
import type { ExitCode } from '../lib/exit.ts';
import { fieldsOf } from '../../src/lib/json.ts';
import { grantOption, grantsOf, GRANT_HELP } from '../lib/grants.ts';
import { refusal } from '../lib/client.ts';
import { connect, withRemoteOptions } from '../lib/remote.ts';
import type { RemoteOptions } from '../lib/remote.ts';
import { columns } from '../lib/terminal.ts';
import { wordsOf } from '../../src/check/answers.ts';

interface CreateOptions extends RemoteOptions {
  readonly grant?: readonly string[];
  readonly note?: string;
  readonly expires?: string;
}

const DAY_MS = 86_400_000;

export function keyCommand(context: Context): Command {
  const part = (name: string, text: string): Command =>
    withRemoteOptions(
      new Command(name).exitOverride().showHelpAfterError('(add --help to see how it is called)').description(text),
      'address of the activator',
    );
  const create = grantOption(part('create', 'Make a key, which is shown once'))
    .option('--note <text>', 'what it is for')
    .option('--expires <when>', 'after so many days, such as 90d, or at a time such as 2030-01-31T00:00:00Z')
    .action(async (options: CreateOptions) => {
      context.exitCode = await createKey(context, options);
    });
  const list = part('list', 'Say which keys there are, by their prefixes').action(async (options: RemoteOptions) => {
    context.exitCode = await listKeys(context, options);
  });
  const revoke = part('revoke', 'Refuse a key from now on, on all nodes within 5 s')
    .argument('<prefix>', 'such as kgk_0a1b2c3d4e')
    .action(async (prefix: string, options: RemoteOptions) => {
      context.exitCode = await revokeKey(context, prefix, options);
    });
  const command = new Command('key').description('The API keys of an activator, for programs that use it');
  for (const each of [create, list, revoke]) command.addCommand(each);
  return command.addHelpText(
    'after',
    `
Examples:
  kgrid key create --grant caller@hello --note "EHR, ward 3" --expires 90d
  kgrid key list
  kgrid key revoke kgk_0a1b2c3d4e

A program sends it as Authorization: Bearer kgk_…, or as the password of HTTP Basic with any user; the commands take it
in KGRID_TOKEN.

${GRANT_HELP}

Exit code: 0 done, 1 there is no such key, 2 wrong call, 3 the activator is out of reach or refuses the login.`,
  );
}

async function createKey(context: Context, options: CreateOptions): Promise<ExitCode> {
  const { note } = options;
  const grants = grantsOf(options.grant);
  const expires = options.expires === undefined ? undefined : timeOf(options.expires);
  const { terminal, client } = connect(context, options);
  const answer = await client.send('/actuator/keys', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ grants, note, expires }),
  });
  const { key, name } = fieldsOf(answer.body);
  if (answer.status !== 201 || typeof key !== 'string') throw refusal(answer, client, 'does not make a key');
  terminal.note(`${String(name)} may: ${grants.join(', ')}${expires === undefined ? '' : `, until ${expires}`}`);
  terminal.note('The key, which is not shown again:');
  terminal.print(key);
  terminal.json(answer.body);
  return EXIT.ok;
}

async function listKeys(context: Context, options: RemoteOptions): Promise<ExitCode> {
  const { terminal, client } = connect(context, options);
  const answer = await client.send('/actuator/keys');
  if (answer.status !== 200 || !Array.isArray(answer.body)) throw refusal(answer, client, 'does not list its keys');
  const rows = answer.body
    .map(fieldsOf)
    .map(({ name, grants, expires, revoked, note }) => [
      String(name),
      typeof revoked === 'string' ? `revoked ${revoked}` : typeof expires === 'string' ? `until ${expires}` : 'valid',
      [grants].flat().join(', '),
      String(note),
    ]);
  for (const line of columns(rows)) terminal.print(line);
  if (rows.length === 0) terminal.print('There is no key');
  terminal.json(answer.body);
  return EXIT.ok;
}

async function revokeKey(context: Context, prefix: string, options: RemoteOptions): Promise<ExitCode> {
  // Whoever gives the whole of it would send the secret in an address.
  const [, name] = /^((?:kgk_)?[0-9a-z]{10})(?:_[0-9A-Za-z]*)?$/.exec(prefix) ?? [];
  if (name === undefined) throw usageFailure(`${prefix.slice(0, 20)} is no prefix of a key: see kgrid key list`);
  const { terminal, client } = connect(context, options);
  const answer = await client.send(`/actuator/keys/${name}`, { method: 'DELETE' });
  if (answer.status === 404) throw new CommandFailure(EXIT.problems, `${client.url}: ${wordsOf(answer)}`);
  if (answer.status !== 204) throw refusal(answer, client, `does not revoke ${name}`);
  terminal.print(`Revoked ${name}`);
  terminal.json({ revoked: name });
  return EXIT.ok;
}

/** @throws CommandFailure. */
function timeOf(text: string): string {
  const [, days] = /^(\d{1,5})d$/.exec(text) ?? [];
  const at = days === undefined ? Date.parse(text) : Date.now() + Number(days) * DAY_MS;
  if (!(at > Date.now()))
    throw usageFailure(
      `--expires is '${text}', but must be days such as 90d, or a time to come such as 2030-01-31T00:00:00Z`,
    );
  return new Date(at).toISOString();
}
