import type { BenchCase, Row } from '../lib/bench.ts';
import { compare } from '../lib/compare.ts';
import { CLEARANCE, benchKo, endpointId, makeShelf, manyKos } from '../lib/kos.ts';
import type { BenchKo } from '../lib/kos.ts';
import { startService } from '../lib/servers.ts';

const CALLER = `
function run(input) {
  return context.getExecutor('${endpointId('clearance')}').execute(input);
}`;

export const isolation: BenchCase = {
  name: 'isolation',
  about: 'processes for each knowledge object (--isolation ko) against those that all share',
  async run(bench) {
    const one = benchKo('clearance', CLEARANCE);
    const caller = benchKo('caller', CALLER);
    const many = manyKos(100);
    const kos = [one, caller, ...many];
    await using shared = await startService(bench, await makeShelf(bench, kos));
    await using apart = await startService(bench, await makeShelf(bench, kos), { more: ['--isolation', 'ko'] });
    const loads: readonly (readonly [string, readonly BenchKo[]])[] = [
      ['one', [one]],
      ['4 in turn', many.slice(0, 4)],
      ['100 in turn', many],
      ['one that calls another', [caller]],
    ];
    const rows: Row[] = [];
    for (const [what, called] of loads) {
      const requests = called.map(({ call }) => call);
      const targets = [
        { name: '--isolation shared', server: shared, requests },
        { name: '--isolation ko', server: apart, requests },
      ];
      rows.push(...(await compare(bench, { case: 'isolation', what, connections: [10], targets })));
    }
    return rows;
  },
};
