import type { BenchCase, Row } from '../lib/bench.ts';
import { compare } from '../lib/compare.ts';
import { benchKo, CLEARANCE, INPUT, makeShelf } from '../lib/kos.ts';
import type { BenchKo } from '../lib/kos.ts';
import { startService } from '../lib/servers.ts';

const MODES = ['off', 'log', 'enforce'] as const;

/** Of `INPUT`. */
const SCHEMA = {
  type: 'object',
  required: ['name', 'age', 'weight', 'creatinine', 'female', 'doses'],
  properties: {
    name: { type: 'string', maxLength: 100 },
    age: { type: 'integer', minimum: 0, maximum: 120 },
    weight: { type: 'number', exclusiveMinimum: 0 },
    creatinine: { type: 'number', exclusiveMinimum: 0 },
    female: { type: 'boolean' },
    doses: { type: 'array', items: { type: 'number' } },
    unit: { enum: ['mg', 'g'] },
  },
};

export const checks: BenchCase = {
  name: 'checks',
  about: 'inputs held to their schema: off, log, enforce',
  run: async (bench): Promise<Row[]> => {
    const kos = MODES.map((mode) => checkedKo(mode));
    await using server = await startService(bench, await makeShelf(bench, kos));
    const targets = kos.map(({ call }, i) => ({ name: MODES[i] ?? '', server, requests: [call] }));
    return await compare(bench, { case: 'checks', connections: [10, 100], targets, pairsWith: 'off' });
  },
};

function checkedKo(mode: (typeof MODES)[number]): BenchKo {
  const made = benchKo(`checks.${mode}`, CLEARANCE);
  const service = {
    openapi: '3.1.0',
    info: { title: 'bench', version: '1.0' },
    servers: [{ url: `/bench/checks.${mode}` }],
    paths: { '/run': { post: { requestBody: { content: { 'application/json': { schema: SCHEMA } } } } } },
  };
  const entry = { engine: 'javascript', artifact: 'src/index.js', function: 'run', validate: mode };
  const files = {
    ...made.ko.files,
    'service.yaml': JSON.stringify(service),
    'deployment.yaml': JSON.stringify({ '/run': { post: entry } }),
  };
  return { ...made, ko: { ...made.ko, files }, call: { ...made.call, body: INPUT } };
}
