/** The work of `runtimes/python/bench/bare_servers.py`, in the languages of the runtimes. */
import type { Bench, BenchCase, Row } from '../lib/bench.ts';
import { compare, type Target } from '../lib/compare.ts';
import { type BenchKo, benchKo, makeShelf } from '../lib/kos.ts';
import { startBareExecution, startBarePython, startService } from '../lib/servers.ts';

const IN_JAVASCRIPT = 'const run = (input) => ({ greeting: `Hello, ${input.name}` });';

export const greetingInNode = (): BenchKo =>
  benchKo('node.greeting', IN_JAVASCRIPT, {
    engine: 'node',
    artifact: 'src/index.js',
    function: 'run',
    code: `${IN_JAVASCRIPT}\nmodule.exports = run;`,
  });

export const greetingInPython = (): BenchKo =>
  benchKo('python.greeting', IN_JAVASCRIPT, {
    engine: 'python',
    artifact: 'src/main.py',
    function: 'main',
    code: 'def main(value):\n    return {"greeting": f"Hello, {value[\'name\']}"}\n',
  });

async function greet(bench: Bench, name: string, ko: BenchKo, others: readonly Target[]): Promise<Row[]> {
  const requests = [ko.call];
  await using bare = await startBareExecution(bench, [ko.bare]);
  await using service = await startService(bench, await makeShelf(bench, [ko]), { runtimes: ['node', 'python'] });
  const beside = [{ name: 'bare node:http', server: bare, requests }, ...others];
  const against = beside.map((each) => each.name);
  const targets = [...beside, { name: 'service', server: service, requests, against }];
  return await compare(bench, { case: name, connections: [10, 100], targets });
}

export const node: BenchCase = {
  name: 'node',
  about: 'one knowledge object in the node runtime',
  run: (bench) => greet(bench, 'node', greetingInNode(), []),
};

export const python: BenchCase = {
  name: 'python',
  about: 'one knowledge object in the python runtime, also against bare servers in Python',
  async run(bench) {
    const ko = greetingInPython();
    const requests = [ko.call];
    // Their answers have no `info`, which makes them a little quicker.
    await using asyncio = await startBarePython(bench, 'asyncio');
    await using httpServer = await startBarePython(bench, 'http.server');
    return await greet(bench, 'python', ko, [
      { name: 'bare asyncio', server: asyncio, requests },
      { name: 'bare http.server', server: httpServer, requests },
    ]);
  },
};
