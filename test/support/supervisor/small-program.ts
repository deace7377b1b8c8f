/** The program of an engine whose artifacts are JSON: each name says what a call of it does. */
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { serve } from '../../../src/engines/supervisor/serve.ts';

serve(({ file, function: name }) => {
  let wanted: unknown;
  try {
    wanted = (JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>)[name];
  } catch (thrown) {
    throw new Error(`${basename(file)} is not JSON: ${String(thrown)}`, { cause: thrown });
  }
  if (wanted === 'echo') return (input) => input;
  if (wanted === 'stay') return () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  return () => {
    throw new Error(`${basename(file)} says ${String(wanted)}`);
  };
}, Number(process.argv[2]));
