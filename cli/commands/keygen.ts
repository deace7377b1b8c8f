import { open } from 'node:fs/promises';
import { Command, Option } from 'commander';
import { messageOf } from '../../src/lib/errors.ts';
import { generateKeys, keyName, readPublicKey, type KeyKind } from '../../src/shelf/package/signatures/keys.ts';
import type { Context } from '../lib/context.ts';
import { ioFailure, usageFailure } from '../lib/exit.ts';

interface Options {
  readonly output: string;
  readonly type: KeyKind;
  readonly json?: boolean;
}

export function keygenCommand(context: Context): Command {
  return new Command('keygen')
    .description('Make a pair of keys to sign packages with')
    .option('-o, --output <name>', 'writes <name>.key, which is secret, and <name>.pub', 'kgrid')
    .addOption(new Option('--type <type>', 'the kind of key').choices(['ecdsa', 'ed25519']).default('ecdsa'))
    .option('--json', 'print the result as JSON')
    .addHelpText(
      'after',
      `
Examples:
  kgrid keygen                      writes kgrid.key and kgrid.pub
  kgrid keygen -o cardiology --type ed25519

The private key is not encrypted: only its owner may read the file. Files that are there are never replaced.`,
    )
    .action(async (options: Options) => {
      const { privatePem, publicPem } = generateKeys(options.type);
      const [key, pub] = [`${options.output}.key`, `${options.output}.pub`];
      await writeNew(key, privatePem, 0o600);
      await writeNew(pub, publicPem, 0o644);
      const terminal = context.terminal(options);
      const name = keyName(readPublicKey(publicPem));
      terminal.print(`${terminal.good(key)}: private, keep it secret`);
      terminal.print(`${terminal.good(pub)}: public, ${name}`);
      terminal.json({ ok: true, privateKey: key, publicKey: pub, name });
    });
}

async function writeNew(path: string, text: string, mode: number): Promise<void> {
  try {
    await using file = await open(path, 'wx', mode);
    await file.writeFile(text);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'EEXIST')
      throw usageFailure(`${path} is there already: choose another --output`);
    throw ioFailure(`${path} cannot be written: ${messageOf(thrown)}`, thrown);
  }
}
