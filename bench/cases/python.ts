import type { BenchCase } from '../lib/bench.ts';
import { compare } from '../lib/compare.ts';
import { greetingInPython } from '../lib/greeting.ts';
import { makeShelf } from '../lib/kos.ts';
import { startBareExecution, startBarePython, startService } from '../lib/servers.ts';

export const python: BenchCase = {
  name: 'python',
  about: 'one knowledge object in the python runtime, also against bare servers in Python',
  async run(bench) {
    const ko = greetingInPython();
    await using bare = await startBareExecution(bench, [ko.bare]);
    // Their answers have no `info`, which makes them a little quicker.
    await using asyncio = await startBarePython(bench, 'asyncio');
    await using httpServer = await startBarePython(bench, 'http.server');
    await using service = await startService(bench, await makeShelf(bench, [ko]), { runtimes: ['node', 'python'] });
    const requests = [ko.call];
    return await compare(bench, {
      case: 'python',
      connections: [10, 100],
      targets: [
        { name: 'bare node:http', server: bare, requests },
        { name: 'bare asyncio', server: asyncio, requests },
        { name: 'bare http.server', server: httpServer, requests },
        {
          name: 'service',
          server: service,
          requests,
          against: ['bare node:http', 'bare asyncio', 'bare http.server'],
        },
      ],
    });
  },
};
