import { isDeepStrictEqual } from 'node:util';
import { Command } from 'commander';
import { type KoSource, readSource } from '../../src/check/ko-source.ts';
import { EXAMPLES_FILE, parseWorkedExamples } from '../../src/knowledge-object/worked-examples.ts';
import { messageOf } from '../../src/lib/errors.ts';
import { parseBundle, requireLatest } from '../../src/shelf/package/signatures/bundle-file.ts';
import { SignatureRefused } from '../../src/shelf/package/signatures/refused.ts';
import { exampleHashes, PROVENANCE, WORKED_EXAMPLES } from '../../src/shelf/package/signatures/statements.ts';
import { verifyBundle } from '../../src/shelf/package/signatures/verify.ts';
import type { Context } from '../lib/context.ts';
import { EXIT, type ExitCode } from '../lib/exit.ts';
import { openSource } from '../lib/open-sources.ts';
import { bundlesOf, listSource, signerOf, type SignerOptions, withSignerOptions } from '../signatures/files.ts';

interface Options extends SignerOptions {
  readonly json?: boolean;
}

export function verifyCommand(context: Context): Command {
  const command = new Command('verify')
    .description('Say whether a package is exactly what somebody has signed; asks nobody')
    .argument('<dir|zip>', 'the folder or the archive of a knowledge object');
  return withSignerOptions(command)
    .option('--json', 'print the result as JSON')
    .addHelpText(
      'after',
      `
Examples:
  kgrid verify my-score.zip --key kgrid.pub
  kgrid verify my-score --certificate-identity ci@example.org --certificate-oidc-issuer https://login.example.org --trusted-root root.json

Bundles are those at the root of the package, and <zip>.sigstore.json beside a zip.
Exit code: 0 signed, 1 not signed by that signer, 2 wrong call, 3 a file cannot be read.`,
    )
    .action(async (path: string, options: Options) => {
      context.exitCode = await verify(context, path, options);
    });
}

interface Checked {
  readonly bundle: string;
  readonly states?: string;
  readonly time?: string;
  readonly problem?: string;
}

async function verify(context: Context, path: string, options: Options): Promise<ExitCode> {
  const terminal = context.terminal(options);
  const signer = await signerOf(options, context.env);
  await using source = await openSource(path);
  if (source.damage !== undefined) {
    terminal.print(terminal.bad(`${source.label}: ${source.damage}`));
    terminal.json({ ok: false, problem: source.damage });
    return EXIT.problems;
  }
  const { sha256 } = await listSource(source);
  const checked: Checked[] = [];
  for (const { name, bytes } of await bundlesOf(source)) {
    try {
      const bundle = parseBundle(bytes);
      requireLatest(bundle);
      const { statement, time } = verifyBundle(bundle, { sha256 }, signer);
      if (statement?.predicateType === WORKED_EXAMPLES) await requireExamples(source, statement.predicate);
      const states = statement?.predicateType ?? PROVENANCE;
      checked.push({ bundle: name, states, ...(time === undefined ? {} : { time: time.toISOString() }) });
    } catch (thrown) {
      if (!(thrown instanceof SignatureRefused)) throw thrown;
      checked.push({ bundle: name, problem: messageOf(thrown) });
    }
  }
  const ok = checked.some(({ states }) => states === PROVENANCE);
  for (const { bundle, problem, time } of checked)
    terminal.print(
      problem === undefined
        ? `${terminal.good(bundle)}: signed${time === undefined ? '' : ` at ${time}`}`
        : `${terminal.bad(bundle)}: ${problem}`,
    );
  const said = ok ? terminal.good('signed') : terminal.bad(checked.length === 0 ? 'has no signature' : 'not signed');
  terminal.print(`${source.label}: ${said}, sha256:${sha256}`);
  terminal.json({ ok, source: source.label, sha256, bundles: checked });
  return ok ? EXIT.ok : EXIT.problems;
}

/** @throws SignatureRefused. */
async function requireExamples(source: KoSource, predicate: unknown): Promise<void> {
  const text = source.files.has(EXAMPLES_FILE) ? (await readSource(source, EXAMPLES_FILE)).toString('utf8') : '';
  const examples = exampleHashes(parseWorkedExamples(text).examples);
  if (!isDeepStrictEqual({ examples }, predicate))
    throw new SignatureRefused(`the worked examples are not those that were signed`);
}
