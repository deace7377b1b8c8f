/** The activator that a command is pointed at, and the login there. A password or token is never an option's value. */
import type { Command } from 'commander';
import { isLoopback } from '../../src/lib/host-port.ts';
import { ActivatorClient, type Login } from './client.ts';
import type { Context, Environment } from './context.ts';
import { usageFailure } from './exit.ts';
import type { Terminal } from './terminal.ts';

export interface RemoteOptions {
  readonly url?: string;
  readonly user?: string;
  readonly passwordEnv?: string;
  readonly tokenEnv?: string;
  readonly json?: boolean;
}

export const withRemoteOptions = (command: Command, what: string): Command =>
  command
    .option('--json', 'print the result as JSON')
    .option('--url <url>', `${what} (or KGRID_URL)`)
    .option('--user <name>', 'log in there as this user (or KGRID_USER)')
    .option('--password-env <variable>', 'variable with the password (default: KGRID_PASSWORD)')
    .option('--token-env <variable>', 'variable with an OAuth 2.0 bearer token (default: KGRID_TOKEN)');

/** @throws CommandFailure when the address is none, or only half of a login is given. */
export function connect(context: Context, options: RemoteOptions): { terminal: Terminal; client: ActivatorClient } {
  const terminal = context.terminal(options);
  return { terminal, client: remoteActivator(options, context.env, terminal) };
}

export function remoteActivator(options: RemoteOptions, env: Environment, terminal: Terminal): ActivatorClient {
  const given = options.url ?? present(env['KGRID_URL']);
  if (given === undefined) throw usageFailure('Name the activator with --url http://…, or set KGRID_URL');
  const url = URL.parse(given);
  if (url === null || !/^https?:$/.test(url.protocol))
    throw usageFailure(`${given} is no address: write it like http://127.0.0.1:8080`);
  if (url.username !== '') throw usageFailure('Leave the login out of the address: use KGRID_USER and KGRID_PASSWORD');
  const login = loginFrom(options, env);
  if (login !== undefined && url.protocol === 'http:' && !isLoopback(url.hostname)) {
    terminal.note(terminal.warning(`The login goes to ${url.host} without encryption: use https where it is there`));
  }
  return new ActivatorClient(url.origin + url.pathname, login);
}

function loginFrom({ user: named, passwordEnv, tokenEnv }: RemoteOptions, env: Environment): Login | undefined {
  const user = named ?? present(env['KGRID_USER']);
  // What is named on the command line goes before what only stands in the environment.
  const token = named === undefined || tokenEnv !== undefined ? secret(tokenEnv, 'KGRID_TOKEN', env) : undefined;
  if (token !== undefined)
    return { who: `the token in ${tokenEnv ?? 'KGRID_TOKEN'}`, authorization: `Bearer ${token}` };
  if (user === undefined) {
    if (passwordEnv !== undefined) throw usageFailure('--password-env needs a user: add --user, or set KGRID_USER');
    return undefined;
  }
  const password = secret(passwordEnv, 'KGRID_PASSWORD', env);
  if (password === undefined) {
    throw usageFailure(
      `There is no password for ${user}: set KGRID_PASSWORD, or name its variable with --password-env`,
    );
  }
  const words = Buffer.from(`${user}:${password}`).toString('base64');
  return { who: `the user ${user}`, authorization: `Basic ${words}` };
}

function secret(variable: string | undefined, standard: string, env: Environment): string | undefined {
  const value = present(env[variable ?? standard]);
  if (variable !== undefined && value === undefined) throw usageFailure(`The variable ${variable} is not set`);
  return value;
}

const present = (value: string | undefined): string | undefined => (value === '' ? undefined : value);
