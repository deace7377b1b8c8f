/** A program: checks the archive that it is given, and prints what is found as JSON. `check-in-process.ts` starts it. */
import { keepCompiledCode } from '../compile-cache.js';
import { SILENT } from './findings.ts';

keepCompiledCode();
const { checkSources, reportOf } = await import('./check-sources.ts');
const { hasProblems } = await import('./check-knowledge-object.ts');
const { openArchiveFile } = await import('./ko-source.ts');

const [archive = ''] = process.argv.slice(2);
await using source = await openArchiveFile(archive);
const [checked] = await checkSources([source], { env: process.env, terminal: SILENT });
if (checked !== undefined) process.stdout.write(JSON.stringify(reportOf(checked, !hasProblems(checked))));
