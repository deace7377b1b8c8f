import assert from 'node:assert/strict';
import test from 'node:test';
import type { Row } from './bench.ts';
import { report } from './report.ts';

const MACHINE = { node: 'v24.0.0', cores: 2, cpu: 'A CPU', memory: '24 GB', load: 0.25 };
const row = (what: string, figures: Row['figures'], failed = 0): Row => ({ case: 'a', what, figures, failed });

test('shows medians and their range, and rows with the same figures in one table', () => {
  const text = report(
    [
      row('odd', { rate: [12000, 9000, 30000], ms: [0.25, 0.5, 12.34] }),
      row('other', { MB: [100, 300] }),
      row('one', { rate: [5], ms: [99.94] }),
    ],
    MACHINE,
  );
  assert.equal(
    text,
    `Node v24.0.0, 2 cores, A CPU, 24 GB, load 0.3 before the start. Medians of rounds [min–max].

| case | what | rate | ms |
| --- | --- | ---: | ---: |
| a | odd | 12,000 [9,000–30,000] | 0.50 [0.25–12.3] |
| a | one | 5.00 | 99.9 |

| case | what | MB |
| --- | --- | ---: |
| a | other | 200 [100–300] |`,
  );
});

test('says which requests failed', () => {
  assert.match(report([row('odd', { rate: [1] }, 3)], MACHINE), /^3 requests of a, odd, were not answered/m);
});
