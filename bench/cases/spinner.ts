import type { Bench, BenchCase } from '../lib/bench.ts';
import { inTurn } from '../lib/compare.ts';
import { CLEARANCE, INPUT, benchKo, makeShelf } from '../lib/kos.ts';
import { startService } from '../lib/servers.ts';
import { measure } from '../lib/wrk.ts';

const CONNECTIONS = 10;
const PAUSE_MS = 800;
const SETUPS = ['alone', 'as a while(true) begins', 'while it goes on'] as const;

export const spinner: BenchCase = {
  name: 'spinner',
  about:
    'a javascript knowledge object alone, and beside one in while(true) that is called each 0.8 s: when it first does so, and once that is known',
  async run(bench) {
    const ko = benchKo('clearance', CLEARANCE);
    // One for each measurement, so that the service knows none of them yet.
    const spinners = Array.from({ length: bench.rounds * SETUPS.length }, (_, i) =>
      benchKo(`spinner${i}`, 'const run = () => { while (true); };'),
    );
    await using service = await startService(bench, await makeShelf(bench, [ko, ...spinners]));
    await measure(bench, service.url, [ko.call], CONNECTIONS, Math.min(2, bench.seconds));
    const measured = await inTurn(bench, SETUPS, async (setup, round) => {
      bench.progress(`spinner: round ${round + 1} of ${bench.rounds}, ${setup}`);
      if (setup === 'alone') return await measure(bench, service.url, [ko.call], CONNECTIONS);
      const spinning = spin(bench, service.url + (spinners.pop()?.call.path ?? ''));
      if (setup === 'while it goes on') await spinning.first;
      try {
        return await measure(bench, service.url, [ko.call], CONNECTIONS);
      } finally {
        await spinning.stop();
      }
    });
    const alone = (measured.get('alone') ?? []).map(({ rate }) => rate);
    return [...measured].map(([setup, all]) => ({
      case: 'spinner',
      what: `c${CONNECTIONS} · ${setup}`,
      figures: {
        'requests/s': all.map(({ rate }) => rate),
        'p50 ms': all.map(({ p50 }) => p50),
        'p95 ms': all.map(({ p95 }) => p95),
        'p99 ms': all.map(({ p99 }) => p99),
        'worst ms': all.map(({ worst }) => worst),
        'ratio to alone': all.map(({ rate }, round) => rate / (alone[round] ?? NaN)),
      },
      failed: all.reduce((sum, { failed }) => sum + failed, 0),
    }));
  },
};

/** Calls it until stopped, which waits for the answers, so that none spins into the next measurement; `first` is the end of its first call. */
function spin({ signal, progress }: Bench, url: string): { first: Promise<unknown>; stop: () => Promise<void> } {
  const calls: Promise<string>[] = [];
  const call = (): void => {
    const sent = { method: 'POST', body: INPUT, headers: { 'content-type': 'application/json' }, signal };
    calls.push(
      fetch(url, sent).then(
        ({ status }) => String(status),
        (thrown: unknown) => String(thrown),
      ),
    );
  };
  call();
  const timer = setInterval(call, PAUSE_MS);
  return {
    first: Promise.all(calls),
    async stop() {
      clearInterval(timer);
      progress(`spinner: its calls were answered ${(await Promise.all(calls)).join(' ')}`);
    },
  };
}
