import type { BenchCase, Row } from '../lib/bench.ts';
import { compare } from '../lib/compare.ts';
import { CLEARANCE, benchKo, makeShelf, manyKos } from '../lib/kos.ts';
import type { BenchKo } from '../lib/kos.ts';
import { startBareExecution, startService } from '../lib/servers.ts';

/** A fifth of a millisecond or so of arithmetic, where more sandboxes can pay. */
const BUSY = `
function run(input) {
  let sum = 0;
  for (let i = 1; i <= 10000; i++) sum = (sum + i * input.age) % 1000003;
  return { sum };
}`;

export const sandboxes: BenchCase = {
  name: 'sandboxes',
  about: '--sandboxes 1 against --sandboxes 2',
  async run(bench) {
    const busy = benchKo('busy', BUSY);
    const one = benchKo('clearance', CLEARANCE);
    const hundred = manyKos(100);
    const kos = [busy, one, ...hundred];
    await using bare = await startBareExecution(
      bench,
      kos.map((each) => each.bare),
    );
    await using single = await startService(bench, await makeShelf(bench, kos), { sandboxes: 1 });
    await using double = await startService(bench, await makeShelf(bench, kos), { sandboxes: 2 });
    const loads: readonly (readonly [string, readonly BenchKo[]])[] = [
      ['one', [one]],
      ['100 in turn', hundred],
      ['one that is busy', [busy]],
    ];
    const rows: Row[] = [];
    for (const [what, called] of loads) {
      const requests = called.map(({ call }) => call);
      rows.push(
        ...(await compare(bench, {
          case: 'sandboxes',
          what,
          connections: [100],
          targets: [
            { name: 'bare node:http', server: bare, requests },
            { name: '--sandboxes 1', server: single, requests },
            { name: '--sandboxes 2', server: double, requests },
          ],
        })),
      );
    }
    return rows;
  },
};
