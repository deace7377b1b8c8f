/** The activator that a command is pointed at, and the login there. A password or token is never an option's value. */
import type { Command } from 'commander';
import { koKey, parseArk, parseKoId } from '../../src/knowledge-object/id.ts';
import { isLoopback } from '../../src/lib/host-port.ts';
import { fieldsOf } from '../../src/lib/json.ts';
import { ActivatorClient, type Login, notThere, refusal } from './client.ts';
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

// How a person names a knowledge object at an activator.

/** `<naan>/<name>/<version>` of such an id, or of its ARK. @throws CommandFailure when it is none. */
export function toKey(named: string): string {
  const id = parseArk(named) ?? parseKoId(named);
  if (id === undefined) throw usageFailure(`${named} is no id: write it like hello/welcome/v1.0`);
  return koKey(id);
}

/** The same; without a version it is the newest there. @throws CommandFailure also when there is none. */
export async function findKey(named: string, client: ActivatorClient): Promise<string> {
  const [naan = '', name = '', ...rest] = named.replace(/^ark:\/?/, '').split('/');
  if (rest.join('') !== '' || parseKoId(`${naan}/${name}/v`) === undefined) return toKey(named);
  const answer = await client.send(`/kos/${naan}/${name}`);
  if (answer.status === 404) throw notThere(`${naan}/${name}`, client);
  if (answer.status !== 200) throw refusal(answer, client, `does not give ${naan}/${name}`);
  const id = parseKoId(String(fieldsOf(answer.body)['@id']));
  // It names folders and further requests: only what was asked for will do.
  if (id?.naan !== naan || id.name !== name) throw client.strange(`GET /kos/${naan}/${name}`, answer);
  return koKey(id);
}

/** `GET /actuator/health` of an activator. */
export interface EngineState {
  readonly name: string;
  readonly status: string;
  /** How many runtimes registered; undefined for engines without runtimes. */
  readonly runtimes: number | undefined;
  /** One that the activator brings is on its way. */
  readonly starting: boolean;
  /** Why it is not there. */
  readonly problem: string | undefined;
}

interface HealthFailure {
  readonly what: string;
  readonly cause: string;
  /** When the activator tries it again by itself, where it does: ISO 8601. */
  readonly triedAgainAt?: string;
}

export interface Health {
  readonly status: string;
  /** On the shelf. This and the engines are undefined where the login does not show them. */
  readonly kos: number | undefined;
  readonly engines: readonly EngineState[] | undefined;
  /** Packages that cannot be served. */
  readonly failures: readonly HealthFailure[];
}

/** @throws CommandFailure when the answer is not that of an activator. */
export async function readHealth(client: ActivatorClient): Promise<Health> {
  const answer = await client.send('/actuator/health');
  const { status, components } = fieldsOf(answer.body);
  if (![200, 503].includes(answer.status) || typeof status !== 'string')
    throw client.strange('GET /actuator/health', answer);
  if (components === undefined) return { status, kos: undefined, engines: undefined, failures: [] };
  const parts = Object.values(fieldsOf(components)).map(fieldsOf);
  const { kos, failures } = fieldsOf(fieldsOf(fieldsOf(components)['activationService'])['details']);
  return {
    status,
    kos: typeof kos === 'number' ? kos : undefined,
    engines: parts.flatMap((part) => {
      const { engines, runtimes, starting, problem } = fieldsOf(part['details']);
      return (Array.isArray(engines) ? engines : []).map((name) => ({
        name: String(name),
        status: String(part['status']),
        runtimes: typeof runtimes === 'number' ? runtimes : undefined,
        starting: starting === true,
        problem: typeof problem === 'string' ? problem : undefined,
      }));
    }),
    failures: (Array.isArray(failures) ? failures : [])
      .map(fieldsOf)
      .map(({ knowledgeObject, onShelf, cause, triedAgainAt }) => ({
        what: String(knowledgeObject ?? onShelf),
        cause: String(cause),
        ...(typeof triedAgainAt === 'string' ? { triedAgainAt } : {}),
      })),
  };
}
