/**
 * A program: checks the archive that it is given, tries its code in the runtimes that are named behind it, and prints what is
 * found as JSON. `check-in-process.ts` starts it.
 */
import { keepCompiledCode } from '../compile-cache.js';
import { SILENT } from './findings.ts';

keepCompiledCode();
const { checkSources, reportOf } = await import('./check-sources.ts');
const { hasProblems } = await import('./check-knowledge-object.ts');
const { openArchiveFile } = await import('./ko-source.ts');
const { enginesWithPackages } = await import('./wanted-packages.ts');

const [archive = '', ...engines] = process.argv.slice(2);
await using source = await openArchiveFile(archive);
// Packages of others are not installed for a trial.
const wanting = await enginesWithPackages(source);
const runtimes = engines.filter((name) => !wanting.has(name));
const [checked] = await checkSources([source], { env: process.env, terminal: SILENT, runtimes });
if (checked !== undefined) {
  const report = reportOf(checked, !hasProblems(checked));
  process.stdout.write(JSON.stringify({ ...report, refused: checked.inspection.ko === undefined }));
}
