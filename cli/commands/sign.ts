import { writeFile } from 'node:fs/promises';
import { Command } from 'commander';
import { fullVersion } from '../../src/build.ts';
import { inspect } from '../../src/check/inspect.ts';
import { koKey } from '../../src/knowledge-object/id.ts';
import { messageOf } from '../../src/lib/errors.ts';
import { bundleText } from '../../src/shelf/package/signatures/bundle-file.ts';
import { readPrivateKey } from '../../src/shelf/package/signatures/keys.ts';
import { SignatureRefused } from '../../src/shelf/package/signatures/refused.ts';
import { signStatement } from '../../src/shelf/package/signatures/sign.ts';
import { examplesStatement, provenanceStatement } from '../../src/shelf/package/signatures/statements.ts';
import type { Context } from '../lib/context.ts';
import { EXIT, type ExitCode, ioFailure, usageFailure } from '../lib/exit.ts';
import { openSource } from '../lib/open-sources.ts';
import { printFindings } from '../lib/report-checked.ts';
import { buildOfProject } from '../lib/version.ts';
import { listSource, placesOf, readKeyText } from '../signatures/files.ts';

interface Options {
  readonly key: string;
  readonly json?: boolean;
}

export function signCommand(context: Context): Command {
  return new Command('sign')
    .description('Sign a package and the answers of its worked examples with a key of yours; asks nobody')
    .argument('<dir|zip>', 'the folder or the archive of a knowledge object')
    .requiredOption('--key <file>', 'the private key, as kgrid keygen writes it')
    .option('--json', 'print the result as JSON')
    .addHelpText(
      'after',
      `
Examples:
  kgrid sign my-score.zip --key kgrid.key     writes my-score.zip.sigstore.json beside it
  kgrid sign my-score --key kgrid.key         writes my-score/package.sigstore.json

The listing <dir|zip>.sha256sums is what is signed: cosign verifies the bundle with it.`,
    )
    .action(async (path: string, options: Options) => {
      context.exitCode = await sign(context, path, options);
    });
}

async function sign(context: Context, path: string, options: Options): Promise<ExitCode> {
  const terminal = context.terminal(options);
  const key = await privateKey(options.key);
  await using source = await openSource(path);
  const { metadata, findings, examples } = await inspect(source);
  const problems = findings.filter(({ severity }) => severity === 'problem');
  if (metadata === undefined || problems.length > 0) {
    printFindings(source, problems, terminal);
    terminal.print(terminal.bad('not signed: an activator would not take it'));
    terminal.json({ ok: false, source: source.label, findings: problems });
    return EXIT.problems;
  }
  const listing = await listSource(source);
  const places = placesOf(source);
  const signed = { ko: koKey(metadata.id), sha256: listing.sha256 };
  await write(places.listing, listing.text);
  await write(
    places.package,
    bundleText(signStatement(provenanceStatement(signed, fullVersion(buildOfProject())), key)),
  );
  if (examples.length > 0)
    await write(places.examples, bundleText(signStatement(examplesStatement(signed, examples), key)));
  terminal.print(`${terminal.good(places.package)}: ${signed.ko}`);
  if (examples.length > 0) terminal.print(`${terminal.good(places.examples)}: ${examples.length} worked examples`);
  terminal.print(`${terminal.good(places.listing)}: sha256:${listing.sha256}`);
  terminal.json({ ok: true, ...signed, files: { ...places, ...(examples.length > 0 ? {} : { examples: undefined }) } });
  return EXIT.ok;
}

async function privateKey(path: string): Promise<ReturnType<typeof readPrivateKey>> {
  const pem = await readKeyText(path);
  try {
    return readPrivateKey(pem);
  } catch (thrown) {
    if (thrown instanceof SignatureRefused) throw usageFailure(`${path}: ${thrown.message}`);
    throw thrown;
  }
}

async function write(path: string, text: string): Promise<void> {
  try {
    await writeFile(path, text);
  } catch (thrown) {
    throw ioFailure(`${path} cannot be written: ${messageOf(thrown)}`, thrown);
  }
}
