import { Command } from 'commander';
import { fieldsOf } from '../../src/lib/json.ts';
import { escapeForMessage } from '../../src/lib/text.ts';
import { notThere, refusal } from '../lib/client.ts';
import type { Context } from '../lib/context.ts';
import { EXIT, type ExitCode, usageFailure } from '../lib/exit.ts';
import { connect, type RemoteOptions, toKey, withRemoteOptions } from '../lib/remote.ts';
import { isActive } from '../lib/report-endpoints.ts';
import { count } from '../lib/terminal.ts';

interface DeleteOptions extends RemoteOptions {
  readonly yes?: boolean;
  readonly refresh?: boolean;
}

export function deleteCommand(context: Context): Command {
  const command = new Command('delete')
    .description('Take a knowledge object off the shelf of an activator')
    .argument('<id>', 'with its version, such as hello/welcome/v1.0')
    .option('--yes', 'do not ask first')
    .option('--refresh', 'end its endpoints too; without this they stay active until a refresh');
  return withRemoteOptions(command, 'address of the activator')
    .addHelpText(
      'after',
      `
Examples:
  kgrid delete hello/welcome/v1.0 --url http://127.0.0.1:8080
  kgrid delete hello/welcome/v1.0 --yes --refresh
  kgrid pull hello/welcome/v1.0 -o welcome.zip         keeps it before that

Exit code: 0 deleted, 1 it is not there, 2 nobody could be asked or the answer was no, 3 the activator is out of reach or
refuses the login.`,
    )
    .action(async (named: string, options: DeleteOptions) => {
      context.exitCode = await remove(context, named, options);
    });
}

async function remove(context: Context, named: string, options: DeleteOptions): Promise<ExitCode> {
  const { terminal, client } = connect(context, options);
  const key = toKey(named);
  const stored = await client.send(`/kos/${key}`);
  if (stored.status === 404) throw notThere(key, client);
  if (stored.status !== 200) throw refusal(stored, client, `does not give ${key}`);
  const { title } = fieldsOf(stored.body);
  if (options.yes !== true) {
    const titled = typeof title === 'string' ? ` ("${escapeForMessage(title)}")` : '';
    const answer = await terminal.confirm(`Delete ${key}${titled} at ${client.url}?`);
    if (answer === undefined) throw usageFailure(`Nobody can be asked here: say --yes to delete ${key}`);
    if (!answer) throw usageFailure('Nothing was deleted');
  }
  const active = (await client.endpointsOf(key)).filter(isActive);
  // What was shown is what goes, not what another put there meanwhile.
  const etag = stored.headers.get('etag');
  const answer = await client.send(`/kos/${key}`, {
    method: 'DELETE',
    ...(etag === null ? {} : { headers: { 'if-match': etag } }),
  });
  if (answer.status === 412) throw refusal(answer, client, `has another ${key} by now, which was not deleted`);
  if (answer.status !== 204) throw refusal(answer, client, `does not delete ${key}`);
  terminal.print(`${terminal.good('Deleted')} ${key} at ${client.url}`);
  let stillActive = answer.headers.get('kgrid-still-active') === 'true' || active.length > 0;
  if (stillActive && options.refresh === true) {
    const reloaded = await client.send(`/actuator/activation/reload/${key}`);
    if (reloaded.status !== 303) throw refusal(reloaded, client, `has deleted ${key}, but does not end its endpoints`);
    terminal.print('  Its endpoints have ended');
    stillActive = false;
  } else if (stillActive) {
    const many =
      active.length === 0
        ? 'Its endpoints stay'
        : `${count(active.length, 'endpoint')} of it ${active.length === 1 ? 'stays' : 'stay'}`;
    terminal.print(`  ${terminal.warning(`${many} active until a refresh`)}; next time --refresh ends them at once`);
  }
  terminal.json({ ok: true, url: client.url, ko: key, stillActive });
  return EXIT.ok;
}
