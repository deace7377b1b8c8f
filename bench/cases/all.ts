import type { BenchCase } from '../lib/bench.ts';
import { batchMemory } from './batch-memory.ts';
import { batch } from './batch.ts';
import { chain } from './chain.ts';
import { checks } from './checks.ts';
import { executeAsync } from './execute-async.ts';
import { execute } from './execute.ts';
import { hundred } from './hundred.ts';
import { idle } from './idle.ts';
import { isolation } from './isolation.ts';
import { node } from './node.ts';
import { python } from './python.ts';
import { reads } from './reads.ts';
import { realistic } from './realistic.ts';
import { sandboxes } from './sandboxes.ts';
import { scale } from './scale.ts';
import { spinner } from './spinner.ts';
import { start } from './start.ts';

/** In the order of the report. */
export const CASES: readonly BenchCase[] = [
  execute,
  realistic,
  executeAsync,
  hundred,
  chain,
  reads,
  node,
  python,
  checks,
  batch,
  batchMemory,
  spinner,
  start,
  scale,
  idle,
  sandboxes,
  isolation,
];
