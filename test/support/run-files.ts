/** Runs files of tests, and tells which of them failed. */
import { once } from 'node:events';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';

interface RunOptions {
  readonly cwd: string;
  /** Files at a time. */
  readonly concurrency: number;
  readonly execArgv: readonly string[];
}

/** Prints what they say; resolves to the files of which a test failed. */
async function runFiles(files: readonly string[], { cwd, concurrency, execArgv }: RunOptions): Promise<Set<string>> {
  const failed = new Set<string>();
  const tests = run({ files, cwd, concurrency, execArgv });
  tests.on('test:fail', ({ file, name }) => failed.add(file ?? name));
  const printed = tests.compose(spec);
  printed.pipe(process.stdout);
  await once(printed, 'end');
  return failed;
}

/** More than that are no accident. */
const MOST_AGAIN = 3;

/**
 * Whether all passed. A few that failed beside others are run once more, alone, and both are told: what fails only where
 * the cores are taken is a weakness of the test or of the service that needs a look, what fails alone is a fault.
 */
export async function filesPass(files: readonly string[], options: RunOptions): Promise<boolean> {
  const failed = [...(await runFiles(files, options))];
  if (failed.length === 0) return true;
  if (failed.length === files.length || failed.length > MOST_AGAIN) return false;
  process.stdout.write(`\nRun again alone, since they failed beside others:\n${failed.join('\n')}\n`);
  const alone = await runFiles(failed, { ...options, concurrency: 1 });
  const passed = failed.filter((file) => !alone.has(file));
  if (passed.length > 0) process.stdout.write(`\nFailed beside others and passed alone:\n${passed.join('\n')}\n`);
  return alone.size === 0;
}
