import { Command } from 'commander';
import { fieldsOf } from '../../src/lib/json.ts';
import { escapeForMessage } from '../../src/lib/text.ts';
import { type ActivatorClient, notThere } from '../lib/client.ts';
import type { Context } from '../lib/context.ts';
import { EXIT, type ExitCode } from '../lib/exit.ts';
import { connect, findKey, type Health, readHealth, type RemoteOptions, withRemoteOptions } from '../lib/remote.ts';
import { isActive, printListed, summaryOf } from '../lib/report-endpoints.ts';
import { columns, count, type Terminal } from '../lib/terminal.ts';

export function statusCommand(context: Context): Command {
  const command = new Command('status')
    .description('Say how an activator is, or one of its knowledge objects')
    .argument('[id]', 'such as hello/welcome/v1.0; without the version the newest');
  return withRemoteOptions(command, 'address of the activator')
    .addHelpText(
      'after',
      `
Examples:
  kgrid status --url http://127.0.0.1:8080      its health, its engines, and what does not run
  kgrid status hello/welcome                    the endpoints of one, and why those that failed do

Engines and packages that cannot be served are shown to those who log in. Exit code: 0 it is UP and nothing
failed, or all endpoints of the knowledge object are active; 1 not so; 3 the activator is out of reach.`,
    )
    .action(async (named: string | undefined, options: RemoteOptions) => {
      const { terminal, client } = connect(context, options);
      context.exitCode = await (named === undefined ? ofActivator(client, terminal) : ofKo(named, client, terminal));
    });
}

async function ofActivator(client: ActivatorClient, terminal: Terminal): Promise<ExitCode> {
  const health = await readHealth(client);
  const isUp = health.status === 'UP';
  const endpoints = isUp ? await client.endpoints() : [];
  const word = isUp ? terminal.good(health.status) : terminal.bad(escapeForMessage(health.status));
  const parts = [
    `${word}  ${client.url}`,
    ...(health.kos === undefined ? [] : [count(health.kos, 'knowledge object')]),
  ];
  terminal.print([...parts, `endpoints: ${endpoints.length === 0 ? 'none' : summaryOf(endpoints)}`].join('  '));
  printEngines(health, terminal);
  for (const endpoint of endpoints) if (!isActive(endpoint)) printListed(endpoint, client.url, terminal);
  for (const { what, cause, triedAgainAt } of health.failures) {
    const word = triedAgainAt === undefined ? 'CANNOT BE SERVED' : `TRIED AGAIN AT ${escapeForMessage(triedAgainAt)}`;
    terminal.print(`  ${terminal.bad(word)}  ${escapeForMessage(what)}`);
    // Its endpoints, with the cause, stand above.
    if (triedAgainAt === undefined) terminal.print(`    ${cause}`);
  }
  if (isUp && health.engines === undefined)
    terminal.note(
      'Engines, and packages that cannot be served, are shown to those who log in: see KGRID_USER and KGRID_TOKEN',
    );
  const ok = isUp && health.failures.length === 0 && !endpoints.some(({ status }) => status === 'FAILED_TO_ACTIVATE');
  terminal.json({ ok, url: client.url, ...health, endpoints });
  return ok ? EXIT.ok : EXIT.problems;
}

function printEngines({ engines = [] }: Health, terminal: Terminal): void {
  const lines = columns(engines.map(({ name, status }) => [escapeForMessage(name), escapeForMessage(status)]));
  for (const [i, { problem }] of engines.entries())
    terminal.print(`  engine ${lines[i] ?? ''}${problem === undefined ? '' : `  ${problem}`}`);
}

async function ofKo(named: string, client: ActivatorClient, terminal: Terminal): Promise<ExitCode> {
  const key = await findKey(named, client);
  const [stored, endpoints, health] = await Promise.all([
    client.send(`/kos/${key}`),
    client.endpointsOf(key),
    readHealth(client),
  ]);
  const onShelf = stored.status === 200;
  const failure = health.failures.find(({ what }) => what === key);
  if (!onShelf && endpoints.length === 0 && failure === undefined) throw notThere(key, client);
  const { title } = fieldsOf(stored.body);
  terminal.print(
    `${terminal.bold(key)}${typeof title === 'string' ? `  ${escapeForMessage(title)}` : ''}  ${summaryOf(endpoints)}`,
  );
  if (!onShelf) terminal.print(`  It is not on the shelf any more: its endpoints stay active until a refresh`);
  if (failure !== undefined) terminal.print(`  ${terminal.bad('CANNOT BE SERVED')}  ${failure.cause}`);
  else if (endpoints.length === 0)
    terminal.print(`  It is on the shelf, and not active: a refresh or a push activates it`);
  for (const endpoint of endpoints) printListed(endpoint, client.url, terminal);
  const ok = endpoints.length > 0 && endpoints.every(isActive);
  terminal.json({
    ok,
    url: client.url,
    ko: key,
    title: typeof title === 'string' ? title : null,
    onShelf,
    ...(failure === undefined ? {} : { failure: failure.cause }),
    endpoints,
  });
  return ok ? EXIT.ok : EXIT.problems;
}
