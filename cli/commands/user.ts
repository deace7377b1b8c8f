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

interface AddOptions extends RemoteOptions {
  readonly grant?: readonly string[];
  readonly newPasswordEnv?: string;
}

export function userCommand(context: Context): Command {
  const part = (name: string, text: string): Command =>
    withRemoteOptions(
      new Command(name).exitOverride().showHelpAfterError('(add --help to see how it is called)').description(text),
      'address of the activator',
    );
  const passwordOption = '--new-password-env <variable>';
  const passwordHelp = 'variable with the new password (default: one is made and shown once)';
  const add = grantOption(part('add', 'Add a user').argument('<name>', 'without a colon'))
    .option(passwordOption, passwordHelp)
    .action(async (name: string, options: AddOptions) => {
      context.exitCode = await addUser(context, name, options);
    });
  const list = part('list', 'Say who the users are and what they may').action(async (options: RemoteOptions) => {
    context.exitCode = await listUsers(context, options);
  });
  const remove = part('remove', 'Take a user away; what they logged in for is refused at once')
    .argument('<name>')
    .action(async (name: string, options: RemoteOptions) => {
      context.exitCode = await removeUser(context, name, options);
    });
  const password = part('password', 'Give a user another password')
    .argument('<name>')
    .option(passwordOption, passwordHelp)
    .action(async (name: string, options: AddOptions) => {
      context.exitCode = await setPassword(context, name, options);
    });
  const command = new Command('user').description('The users of an activator, and what they may');
  for (const each of [add, list, remove, password]) command.addCommand(each);
  return command.addHelpText(
    'after',
    `
Examples:
  kgrid user add ann --grant author@hello --url http://127.0.0.1:8080
  kgrid user list
  kgrid user password ann
  kgrid user remove ann

${GRANT_HELP}

The first operator is the one of the settings of the activator, KGRID_USER and KGRID_PASSWORD: log in as such to add others.
Exit code: 0 done, 1 there is no such user or one already, 2 wrong call, 3 the activator is out of reach or refuses the login.`,
  );
}

async function addUser(context: Context, name: string, options: AddOptions): Promise<ExitCode> {
  const password = newPassword(context, options);
  const grants = grantsOf(options.grant);
  const { terminal, client } = connect(context, options);
  const answer = await client.send('/actuator/users', json('POST', { name, grants, ...password }));
  if (answer.status === 409) throw new CommandFailure(EXIT.problems, `${client.url}: ${wordsOf(answer)}`);
  if (answer.status !== 201) throw refusal(answer, client, `does not add ${name}`);
  const { password: made } = fieldsOf(answer.body);
  terminal.print(`Added ${name}: ${grants.join(', ')}`);
  if (typeof made === 'string') terminal.print(`Password, which is not shown again: ${made}`);
  terminal.json(answer.body);
  return EXIT.ok;
}

async function listUsers(context: Context, options: RemoteOptions): Promise<ExitCode> {
  const { terminal, client } = connect(context, options);
  const answer = await client.send('/actuator/users');
  if (answer.status !== 200 || !Array.isArray(answer.body)) throw refusal(answer, client, 'does not list its users');
  const rows = answer.body.map(fieldsOf).map(({ name, grants }) => [String(name), [grants].flat().join(', ')]);
  for (const line of columns(rows)) terminal.print(line);
  if (rows.length === 0) terminal.print('There is no user but the one of the settings');
  terminal.json(answer.body);
  return EXIT.ok;
}

async function removeUser(context: Context, name: string, options: RemoteOptions): Promise<ExitCode> {
  const { terminal, client } = connect(context, options);
  const answer = await client.send(`/actuator/users/${encodeURIComponent(name)}`, { method: 'DELETE' });
  if (answer.status === 404) throw new CommandFailure(EXIT.problems, `${client.url}: ${wordsOf(answer)}`);
  if (answer.status !== 204) throw refusal(answer, client, `does not remove ${name}`);
  terminal.print(`Removed ${name}`);
  terminal.json({ removed: name });
  return EXIT.ok;
}

async function setPassword(context: Context, name: string, options: AddOptions): Promise<ExitCode> {
  const password = newPassword(context, options);
  const { terminal, client } = connect(context, options);
  const answer = await client.send(`/actuator/users/${encodeURIComponent(name)}/password`, json('PUT', password));
  if (answer.status === 404) throw new CommandFailure(EXIT.problems, `${client.url}: ${wordsOf(answer)}`);
  if (answer.status !== 200) throw refusal(answer, client, `does not take another password of ${name}`);
  const { password: made } = fieldsOf(answer.body);
  terminal.print(`${name} has another password`);
  if (typeof made === 'string') terminal.print(`Password, which is not shown again: ${made}`);
  terminal.json(answer.body);
  return EXIT.ok;
}

function newPassword({ env }: Context, { newPasswordEnv }: AddOptions): { readonly password?: string } {
  if (newPasswordEnv === undefined) return {};
  const password = env[newPasswordEnv];
  if (password === undefined || password === '') throw usageFailure(`The variable ${newPasswordEnv} is not set`);
  return { password };
}

const json = (method: string, body: object): { method: string; headers: Record<string, string>; body: string } => ({
  method,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
});
