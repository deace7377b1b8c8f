import { createInterface } from 'node:readline';
import { Command } from 'commander';
import type { Context } from '../lib/context.ts';
import { McpBridge } from '../lib/mcp-bridge.ts';
import { connect, withRemoteOptions } from '../lib/remote.ts';
import type { RemoteOptions } from '../lib/remote.ts';

/** Milliseconds; calls of endpoints may take ten minutes. */
const LONGEST_MS = 660_000;

export function mcpCommand(context: Context): Command {
  const command = new Command('mcp').description(
    'Connect an assistant on this machine to an activator, over its pipes',
  );
  return withRemoteOptions(command, 'address of the activator')
    .addHelpText(
      'after',
      `
Example, as the configuration of an assistant:
  { "mcpServers": { "kgrid": { "command": "kgrid", "args": ["mcp", "--url", "http://127.0.0.1:8080"] } } }

The assistant starts it. The activator runs with --mcp on, as it does in the dev profile.`,
    )
    .action(async (options: RemoteOptions) => {
      await pass(context, options);
    });
}

async function pass(context: Context, options: RemoteOptions): Promise<void> {
  const { client } = connect(context, options);
  const { stdin, stdout } = context;
  const bridge = new McpBridge({
    url: `${client.url}/mcp`,
    authorization: client.authorization,
    write: (line) => void stdout.write(`${line}\n`),
    timeout: LONGEST_MS,
  });
  const lines = createInterface({ input: stdin, crlfDelay: Infinity });
  void context.interrupted().then(() => lines.close());
  const passing = new Set<Promise<void>>();
  for await (const line of lines) {
    const passed = bridge.pass(line).finally(() => passing.delete(passed));
    passing.add(passed);
  }
  bridge.end();
  await Promise.all(passing);
}
