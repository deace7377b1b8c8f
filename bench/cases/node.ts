import type { BenchCase } from '../lib/bench.ts';
import { compare } from '../lib/compare.ts';
import { greetingInNode } from '../lib/greeting.ts';
import { makeShelf } from '../lib/kos.ts';
import { startBareExecution, startService } from '../lib/servers.ts';

export const node: BenchCase = {
  name: 'node',
  about: 'one knowledge object in the node runtime',
  async run(bench) {
    const ko = greetingInNode();
    await using bare = await startBareExecution(bench, [ko.bare]);
    await using service = await startService(bench, await makeShelf(bench, [ko]), { runtimes: ['node', 'python'] });
    const requests = [ko.call];
    return await compare(bench, {
      case: 'node',
      connections: [10, 100],
      targets: [
        { name: 'bare node:http', server: bare, requests },
        { name: 'service', server: service, requests },
      ],
    });
  },
};
