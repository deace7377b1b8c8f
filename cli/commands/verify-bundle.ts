import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { Command } from 'commander';
import { messageOf } from '../../src/lib/errors.ts';
import { parseBundle } from '../../src/shelf/package/signatures/bundle-file.ts';
import { SignatureRefused } from '../../src/shelf/package/signatures/refused.ts';
import { type Subject, verifyBundle } from '../../src/shelf/package/signatures/verify.ts';
import type { Context } from '../lib/context.ts';
import { EXIT, type ExitCode, ioFailure } from '../lib/exit.ts';
import { readBundleFile, signerOf, type SignerOptions, withSignerOptions } from '../signatures/files.ts';

interface Options extends SignerOptions {
  readonly bundle: string;
  readonly json?: boolean;
}

export function verifyBundleCommand(context: Context): Command {
  const command = new Command('verify-bundle')
    .description('Verify any Sigstore bundle, as conformance suites call it; asks nobody')
    .argument('<file>', 'what was signed: a file, or sha256:<hex> of it')
    .requiredOption('--bundle <file>', 'the Sigstore bundle');
  return withSignerOptions(command)
    .option('--json', 'print the result as JSON')
    .addHelpText('after', '\nExit code: 0 verified, 1 not verified, 2 wrong call, 3 a file cannot be read.')
    .action(async (file: string, options: Options) => {
      context.exitCode = await verify(context, file, options);
    });
}

async function verify(context: Context, file: string, options: Options): Promise<ExitCode> {
  const terminal = context.terminal(options);
  const signer = await signerOf(options, context.env);
  const subject = await subjectOf(file);
  try {
    const { time } = verifyBundle(parseBundle(await readBundleFile(options.bundle)), subject, signer);
    terminal.print(terminal.good('verified'));
    terminal.json({ ok: true, sha256: subject.sha256, ...(time === undefined ? {} : { time: time.toISOString() }) });
    return EXIT.ok;
  } catch (thrown) {
    if (!(thrown instanceof SignatureRefused)) throw thrown;
    terminal.print(terminal.bad(`not verified: ${messageOf(thrown)}`));
    terminal.json({ ok: false, problem: messageOf(thrown) });
    return EXIT.problems;
  }
}

/** A file that has such a name is the file. */
async function subjectOf(file: string): Promise<Subject> {
  const digest = /^sha256:([0-9a-f]{64})$/i.exec(file)?.[1];
  if (digest !== undefined && !existsSync(file)) return { sha256: digest.toLowerCase() };
  try {
    const bytes = await readFile(file);
    return { sha256: createHash('sha256').update(bytes).digest('hex'), bytes };
  } catch (thrown) {
    throw ioFailure(`${file} cannot be read: ${messageOf(thrown)}`, thrown);
  }
}
