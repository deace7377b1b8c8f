/** The work of `runtimes/python/bench/bare_servers.py`, in the languages of the runtimes. */
import { benchKo } from './kos.ts';
import type { BenchKo } from './kos.ts';

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
